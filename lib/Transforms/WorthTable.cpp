//===- WorthTable.cpp - What roles are worth on what they may sit on ------===//

#include "WorthTable.h"
#include "etc/Optimize/Assignment/Solver.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>

using namespace etc;
using assignment::Weight;

static int64_t countGroups(llvm::ArrayRef<int32_t> groups) {
  return groups.empty() ? 0 : *llvm::max_element(groups) + 1;
}

WorthTable::WorthTable(std::vector<int32_t> rows, std::vector<int32_t> columns)
    : rowGroup(std::move(rows)), colGroup(std::move(columns)),
      rowGroups(countGroups(rowGroup)), colGroups(countGroups(colGroup)),
      base(rowGroups * colGroups), pairs(rowGroup.size()) {}

int64_t WorthTable::at(int64_t row, int64_t column) const {
  auto it = pairs[row].find(column);
  return atGroups(rowGroup[row], colGroup[column]) +
         (it == pairs[row].end() ? 0 : it->second);
}

int64_t WorthTable::getMost(int64_t row) const {
  int64_t most = 0, more = 0;
  for (int64_t group = 0; group < colGroups; ++group)
    most = std::max(most, atGroups(rowGroup[row], group));
  for (auto [column, bytes] : pairs[row])
    more = std::max(more, bytes);
  return most + more;
}

/// Every class is a group: its own number.
static bool isIdentity(llvm::ArrayRef<int32_t> groups) {
  for (auto [index, group] : llvm::enumerate(groups))
    if (group != static_cast<int32_t>(index))
      return false;
  return true;
}

/// The edges of `weights` that weigh anything, in order; what is negative is
/// for `check` to refuse.
static std::vector<assignment::Edge>
toEdges(const std::map<std::pair<int32_t, int32_t>, Weight> &weights) {
  std::vector<assignment::Edge> edges;
  for (const auto &[pair, weight] : weights)
    if (weight != Weight{})
      edges.push_back({pair.first, pair.second, weight});
  return edges;
}

std::optional<assignment::Problem> GroupedProblem::toPlain() const {
  if (!isIdentity(rowGroup) || !isIdentity(colGroup))
    return std::nullopt;
  auto all = pairs;
  all.insert(groups.begin(), groups.end());
  return assignment::Problem{supply, capacity, toEdges(all)};
}

assignment::HubProblem GroupedProblem::toHubs() const {
  return {
      {supply, capacity, toEdges(pairs)}, rowGroup, colGroup, toEdges(groups)};
}

std::optional<std::string> GroupedProblem::check() const {
  std::optional<assignment::Problem> plain = toPlain();
  return plain ? assignment::check(*plain) : assignment::check(toHubs());
}

std::optional<std::string>
GroupedProblem::verifyCertificate(Weight total, llvm::ArrayRef<Weight> u,
                                  llvm::ArrayRef<Weight> v) const {
  std::optional<assignment::Problem> plain = toPlain();
  if (!plain) {
    assignment::HubProblem hubs = toHubs();
    if (std::optional<std::string> error = assignment::check(hubs))
      return error;
    if (u.size() == supply.size() && v.size() == capacity.size())
      plain = assignment::leastCovered(hubs, {u.data(), u.size()},
                                       {v.data(), v.size()});
    else
      plain = hubs.direct;
  }
  return assignment::verifyCertificate(*plain, total, {u.data(), u.size()},
                                       {v.data(), v.size()});
}

assignment::HubSolution GroupedProblem::solve() const {
  std::optional<assignment::Problem> plain = toPlain();
  if (!plain)
    return assignment::solve(toHubs());
  assignment::Solution solution = assignment::solve(*plain);
  return {std::move(*plain), std::move(solution)};
}

GroupedProblem etc::problemOf(const WorthTable &worths, int64_t supply,
                              std::vector<int64_t> capacity) {
  assert(static_cast<int64_t>(capacity.size()) == worths.getColumns());
  GroupedProblem problem;
  problem.supply.assign(worths.getRows(), supply);
  problem.capacity = std::move(capacity);
  for (int64_t column = 0; column < worths.getColumns(); ++column)
    problem.colGroup.push_back(worths.getColumnGroup(column));
  for (int32_t row = 0; row < worths.getRows(); ++row) {
    problem.rowGroup.push_back(worths.getRowGroup(row));
    for (auto [column, more] : worths.getPairs(row))
      problem.pairs[{row, column}] = {0, worths.at(row, column)};
  }
  for (int32_t row = 0; row < worths.getRowGroups(); ++row)
    for (int32_t column = 0; column < worths.getColumnGroups(); ++column)
      if (int64_t bytes = worths.atGroups(row, column))
        problem.groups[{row, column}] = {0, bytes};
  return problem;
}
