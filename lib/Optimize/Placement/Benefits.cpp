// What current roles gain from the devices or nodes that they are put on.

#include "etc/Optimize/Placement/Benefits.h"

#include <algorithm>

namespace etc::placement {
namespace {

int64_t countGroups(const std::vector<int32_t> &groups) {
  return groups.empty() ? 0
                        : *std::max_element(groups.begin(), groups.end()) + 1;
}

} // namespace

BenefitTable::BenefitTable(std::vector<int32_t> rows,
                           std::vector<int32_t> columns)
    : rowGroup(std::move(rows)), colGroup(std::move(columns)),
      rowGroups(countGroups(rowGroup)), colGroups(countGroups(colGroup)),
      base(size_t(rowGroups * colGroups)), pairs(rowGroup.size()) {}

int64_t BenefitTable::at(int64_t row, int64_t column) const {
  const std::map<int32_t, int64_t> &ofRow = getPairs(row);
  const auto more = ofRow.find(int32_t(column));
  return atGroups(getRowGroup(row), getColumnGroup(column)) +
         (more == ofRow.end() ? 0 : more->second);
}

int64_t BenefitTable::getMost(int64_t row) const {
  int64_t most = 0, more = 0;
  for (int64_t group = 0; group < colGroups; ++group)
    most = std::max(most, atGroups(getRowGroup(row), group));
  for (const auto &[column, bytes] : getPairs(row))
    more = std::max(more, bytes);
  return most + more;
}

} // namespace etc::placement
