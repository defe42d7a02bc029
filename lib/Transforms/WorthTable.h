//===- WorthTable.h - What roles are worth on what they may sit on --------===//
//
// Rows are current roles; columns are whatever a role can be put on. Most of a
// pair's worth depends on the groups of both alone; flat ranges add to few
// pairs. Knows no IR.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_WORTHTABLE_H
#define ETC_LIB_TRANSFORMS_WORTHTABLE_H

#include "etc/Optimize/Assignment/Hubs.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace etc {

class WorthTable {
public:
  /// The group of every row and of every column, numbered from 0.
  WorthTable() = default;
  WorthTable(std::vector<int32_t> rowGroup, std::vector<int32_t> colGroup);

  int64_t getRows() const { return rowGroup.size(); }
  int64_t getColumns() const { return colGroup.size(); }
  int64_t getRowGroups() const { return rowGroups; }
  int64_t getColumnGroups() const { return colGroups; }
  int32_t getRowGroup(int64_t row) const { return rowGroup[row]; }
  int32_t getColumnGroup(int64_t column) const { return colGroup[column]; }

  /// Bytes.
  int64_t at(int64_t row, int64_t column) const;
  int64_t &atGroups(int64_t row, int64_t column) {
    return base[row * colGroups + column];
  }
  int64_t atGroups(int64_t row, int64_t column) const {
    return base[row * colGroups + column];
  }
  /// Adds to one pair, beyond its groups.
  void add(int64_t row, int64_t column, int64_t bytes) {
    pairs[row][column] += bytes;
  }
  /// The columns that are worth more to a row than to its group, by how much.
  const std::map<int32_t, int64_t> &getPairs(int64_t row) const {
    return pairs[row];
  }
  /// No pair of the row is worth more.
  int64_t getMost(int64_t row) const;

private:
  std::vector<int32_t> rowGroup, colGroup;
  int64_t rowGroups = 0, colGroups = 0;
  std::vector<int64_t> base; // [row group][column group]
  std::vector<std::map<int32_t, int64_t>> pairs;
};

/// The assignment problem of rows in groups and columns in groups.
class GroupedProblem {
public:
  std::vector<int64_t> supply, capacity;
  std::vector<int32_t> rowGroup, colGroup;
  /// What groups are worth to each other; what two single classes are.
  std::map<std::pair<int32_t, int32_t>, assignment::Weight> groups, pairs;

  /// Where every class is a group of its own there are only edges.
  assignment::HubSolution solve() const;
  /// Says what is not well formed first; nothing if all is.
  std::optional<std::string> check() const;
  /// Says why the duals do not prove that `total` is the most; nothing if they
  /// do.
  std::optional<std::string>
  verifyCertificate(assignment::Weight total,
                    llvm::ArrayRef<assignment::Weight> u,
                    llvm::ArrayRef<assignment::Weight> v) const;
  size_t getEdges() const { return groups.size() + pairs.size(); }

private:
  assignment::HubProblem toHubs() const;
  std::optional<assignment::Problem> toPlain() const;
};

/// Rows with `supply` equals each on columns with `capacity`, by their worth.
GroupedProblem problemOf(const WorthTable &worths, int64_t supply,
                         std::vector<int64_t> capacity);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_WORTHTABLE_H
