// The assignment that bounds all placements.

#include "etc/Optimize/Placement/Bound.h"

#include <cassert>

namespace etc::placement {

assignment::GroupedProblem poseBound(const BenefitTable &benefits,
                                     int64_t replicas,
                                     std::vector<int64_t> members) {
  assert(int64_t(members.size()) == benefits.getColumns());
  assignment::GroupedProblem problem;
  problem.supply.assign(size_t(benefits.getRows()), replicas);
  problem.capacity = std::move(members);
  for (int64_t column = 0; column < benefits.getColumns(); ++column)
    problem.colGroup.push_back(benefits.getColumnGroup(column));
  for (int32_t row = 0; row < benefits.getRows(); ++row) {
    problem.rowGroup.push_back(benefits.getRowGroup(row));
    for (const auto &[column, more] : benefits.getPairs(row))
      problem.pairs[{row, column}] = {0, benefits.at(row, column)};
  }
  for (int32_t row = 0; row < benefits.getRowGroups(); ++row)
    for (int32_t column = 0; column < benefits.getColumnGroups(); ++column)
      if (int64_t bytes = benefits.atGroups(row, column))
        problem.groups[{row, column}] = {0, bytes};
  return problem;
}

} // namespace etc::placement
