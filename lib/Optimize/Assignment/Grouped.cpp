// Rows and columns in groups, as a problem of hubs or of edges.

#include "etc/Optimize/Assignment/Grouped.h"

#include "etc/Optimize/Assignment/Solver.h"

namespace etc::assignment {
namespace {

/// Every class is a group: its own number.
bool isIdentity(const std::vector<int32_t> &groups) {
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i] != int32_t(i))
      return false;
  return true;
}

/// The edges of `weights` that weigh anything, in order; what is negative is
/// for `check` to refuse.
std::vector<Edge> toEdges(const GroupedProblem::Weights &weights) {
  std::vector<Edge> edges;
  for (const auto &[pair, weight] : weights)
    if (weight != Weight{})
      edges.push_back({pair.first, pair.second, weight});
  return edges;
}

} // namespace

std::optional<Problem> GroupedProblem::toPlain() const {
  if (!isIdentity(rowGroup) || !isIdentity(colGroup))
    return std::nullopt;
  Weights all = pairs;
  all.insert(groups.begin(), groups.end());
  return Problem{supply, capacity, toEdges(all)};
}

HubProblem GroupedProblem::toHubs() const {
  return {
      {supply, capacity, toEdges(pairs)}, rowGroup, colGroup, toEdges(groups)};
}

std::optional<std::string> GroupedProblem::check() const {
  const std::optional<Problem> plain = toPlain();
  return plain ? assignment::check(*plain) : assignment::check(toHubs());
}

HubSolution GroupedProblem::solve() const {
  std::optional<Problem> plain = toPlain();
  if (!plain)
    return assignment::solve(toHubs());
  Solution solution = assignment::solve(*plain);
  return {std::move(*plain), std::move(solution)};
}

} // namespace etc::assignment
