//===- RolePoser.h - The problem of the bound of all roles ------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_ROLEPOSER_H
#define ETC_LIB_TRANSFORMS_ROLEPOSER_H

#include "etc/Analysis/NodeClasses.h"
#include "etc/Analysis/RoleContents.h"
#include "etc/Optimize/Placement/RoleBound.h"

#include <set>

namespace etc {

/// Poses the problem of nodes and that of devices, whose columns are those of
/// the nodes, the previous roles, and devices without one.
class RolePoser {
public:
  RolePoser(MigrationOp migration, const TensorTable &table,
            const BothHoldings &holdings, const Devices &devices,
            const NodeClasses &classes);

  bool isSmall() const;
  bool listContents();
  /// The nodes or devices of columns that may take roles.
  llvm::SmallVector<int64_t> cellsOf(llvm::ArrayRef<int64_t> columns,
                                     Level level) const;
  placement::RoleTimes pose(Level level) const;

private:
  size_t countColumns() const {
    return classes.roles.size() + holdings.prev.size() + 1;
  }
  void listGroups();
  void addCells(placement::RoleTimes &times, Level level) const;
  int64_t countTogether(llvm::ArrayRef<int64_t> roles) const;
  int64_t countMostNodes() const;

  mutable MigrationOp migration; ///< ops are handles, their getters not const
  ParallelAttr curr;
  const TensorTable &table;
  const BothHoldings &holdings;
  const Devices &devices;
  const NodeClasses &classes;
  bool areGroupsWhole = false;       ///< in nodes
  llvm::SmallVector<int64_t> usable; ///< [node]
  std::set<llvm::SmallVector<int64_t>> groups;
  std::vector<NeededContent> contents;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_ROLEPOSER_H
