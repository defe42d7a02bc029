// What current roles gain from the devices or nodes that they are put on.

#ifndef ETC_OPTIMIZE_PLACEMENT_BENEFITS_H
#define ETC_OPTIMIZE_PLACEMENT_BENEFITS_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace etc::placement {

/// Rows are current roles; columns are whatever a role can be put on. Most of a
/// pair's benefit depends on the groups of both alone; flat spans add to few
/// pairs. All benefits are in bytes that need not move.
class BenefitTable {
public:
  /// The group of every row and of every column, numbered from 0.
  BenefitTable() = default;
  BenefitTable(std::vector<int32_t> rowGroup, std::vector<int32_t> colGroup);

  int64_t getRows() const { return int64_t(rowGroup.size()); }
  int64_t getColumns() const { return int64_t(colGroup.size()); }
  int64_t getRowGroups() const { return rowGroups; }
  int64_t getColumnGroups() const { return colGroups; }
  int32_t getRowGroup(int64_t row) const { return rowGroup[size_t(row)]; }
  int32_t getColumnGroup(int64_t column) const {
    return colGroup[size_t(column)];
  }

  int64_t at(int64_t row, int64_t column) const;
  int64_t &atGroups(int64_t row, int64_t column) {
    return base[size_t(row * colGroups + column)];
  }
  int64_t atGroups(int64_t row, int64_t column) const {
    return base[size_t(row * colGroups + column)];
  }
  /// Adds to one pair, beyond its groups.
  void add(int64_t row, int64_t column, int64_t bytes) {
    pairs[size_t(row)][int32_t(column)] += bytes;
  }
  /// The columns that benefit a row more than its group, by how much.
  const std::map<int32_t, int64_t> &getPairs(int64_t row) const {
    return pairs[size_t(row)];
  }
  /// No pair of the row has more.
  int64_t getMost(int64_t row) const;

  bool operator==(const BenefitTable &) const = default;

private:
  std::vector<int32_t> rowGroup, colGroup;
  int64_t rowGroups = 0, colGroups = 0;
  std::vector<int64_t> base; ///< [row group][column group]
  std::vector<std::map<int32_t, int64_t>> pairs;
};

} // namespace etc::placement

#endif // ETC_OPTIMIZE_PLACEMENT_BENEFITS_H
