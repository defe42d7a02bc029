// The constraints (P1) to (P5) of a problem.

#include "Message.h"
#include "etc/Optimize/Assignment/Problem.h"

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>

namespace etc::assignment {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Message checkCounts(const char *name, std::span<const int64_t> counts) {
  int64_t sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 0)
      return text(At{name, i}, ": must be at least 0, got ", counts[i]);
    if (counts[i] > kMax - sum)
      return text(At{name, i}, ": the sum exceeds 2^63 - 1");
    sum += counts[i];
  }
  return std::nullopt;
}

Message checkEnd(size_t edge, const char *name, int32_t index, size_t count) {
  if (index >= 0 && size_t(index) < count)
    return std::nullopt;
  return text(At{"edges", edge}, ".", name, ": ", index, " is not in [0, ",
              count, ")");
}

Message checkEdge(const Problem &problem, size_t index) {
  const Edge &edge = problem.edges[index];
  if (Message error = checkEnd(index, "row", edge.row, problem.supply.size()))
    return error;
  if (Message error = checkEnd(index, "col", edge.col, problem.capacity.size()))
    return error;
  if (edge.weight <= Weight{})
    return text(At{"edges", index},
                ".weight: must be greater than (0, 0), got ", edge.weight);
  if (index == 0)
    return std::nullopt;
  const Edge &before = problem.edges[index - 1];
  if (std::tie(before.row, before.col) >= std::tie(edge.row, edge.col))
    return text(At{"edges", index},
                ": must come after the edge before it by (row, col), got (",
                edge.row, ", ", edge.col, ") after (", before.row, ", ",
                before.col, ")");
  return std::nullopt;
}

Int128 magnitude(Weight w) {
  auto absolute = [](int64_t x) { return x < 0 ? -Int128(x) : Int128(x); };
  return std::max(absolute(w.node), absolute(w.device));
}

// Potentials are sums of weights along a path that meets no node twice; totals
// are sums over roles.
Message checkMagnitudes(const Problem &problem) {
  Int128 nodes = Int128(problem.supply.size()) + problem.capacity.size() + 1;
  Int128 total = 0;
  Int128 rowMax = 0;
  for (size_t i = 0; i < problem.edges.size(); ++i) {
    const Edge &edge = problem.edges[i];
    Int128 size = magnitude(edge.weight);
    if (nodes * size > Int128(1) << 61)
      return text(At{"edges", i}, ".weight: ", edge.weight,
                  " is too large for ", nodes - 1, " classes");
    rowMax = std::max(rowMax, size);
    if (i + 1 < problem.edges.size() && problem.edges[i + 1].row == edge.row)
      continue;
    total += problem.supply[edge.row] * rowMax;
    rowMax = 0;
    if (total > kMax)
      return text(At{"supply", size_t(edge.row)},
                  ": the total weight may exceed 2^63 - 1");
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string> check(const Problem &problem) {
  size_t classes = problem.supply.size() + problem.capacity.size();
  if (classes > size_t(std::numeric_limits<int32_t>::max()))
    return text("at most 2147483647 rows and columns are supported, got ",
                classes);
  if (Message error = checkCounts("supply", problem.supply))
    return error;
  if (Message error = checkCounts("capacity", problem.capacity))
    return error;
  for (size_t i = 0; i < problem.edges.size(); ++i)
    if (Message error = checkEdge(problem, i))
      return error;
  return checkMagnitudes(problem);
}

} // namespace etc::assignment
