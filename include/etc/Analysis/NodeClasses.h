//===- NodeClasses.h - Nodes that hold the same roles ---------------------===//

#ifndef ETC_ANALYSIS_NODECLASSES_H
#define ETC_ANALYSIS_NODECLASSES_H

#include "etc/Analysis/Devices.h"
#include "etc/Analysis/Holdings.h"
#include "etc/Optimize/Placement/Entering.h"

#include <map>

namespace etc {

/// Classes of nodes, numbered by their first node. Two nodes are of one class
/// where their living devices hold the same set of previous roles: what a role
/// need not fetch from another node depends on nothing else. Classes that hold
/// roles of the same pools are a group.
struct NodeClasses {
  llvm::SmallVector<int64_t> ofNode;                   ///< [node]
  llvm::SmallVector<llvm::SmallVector<int64_t>> roles; ///< [class] ascending
  std::vector<int32_t> group;                          ///< [class]
  llvm::SmallVector<llvm::SmallVector<int64_t>> pools; ///< [group] ascending

  NodeClasses(const Devices &devices, const Holdings &prev);

  /// What a node of each class holds of every current role.
  placement::BenefitTable countBenefits(const TensorTable &table,
                                        const Holdings &prev,
                                        const Holdings &curr) const;
  /// What nodes of each class lack of every current role, by who needs it too.
  /// Nothing where that is much more than the devices, or for inventories.
  std::optional<placement::Entering> listEntering(const TensorTable &table,
                                                  const Holdings &prev,
                                                  const Holdings &curr) const;
};

} // namespace etc

#endif // ETC_ANALYSIS_NODECLASSES_H
