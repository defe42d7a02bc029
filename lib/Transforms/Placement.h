//===- Placement.h - Which device takes which rank ------------------------===//
//
// Roles to devices with the topology in the objective: the most bytes kept on
// the node first, the most kept on the device second, or the other way round.
// Knows no IR.
// docs/placement.md has the model.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_PLACEMENT_H
#define ETC_LIB_TRANSFORMS_PLACEMENT_H

#include "WorthTable.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace etc {

/// A device that may take a role.
struct Candidate {
  int64_t device, node;
  int64_t prevRole; ///< the role whose state it holds, or -1
};

struct PlacementProblem {
  /// The current grid: stages, the ranks of a tensor-parallel group, and after
  /// how many ranks of a stage the weights repeat, how often.
  int64_t pp, tp, slots, replicas;
  /// Ranks of a role: the replicas, or one where each has a role of its own.
  int64_t dp;
  llvm::SmallVector<Candidate> devices; ///< ascending by device, hence by node
  llvm::SmallVector<int64_t>
      nodeClass;           ///< [node] nodes of a class hold the same roles
  WorthTable onDevice;     ///< [role][previous role]
  WorthTable onNode;       ///< [role][node class]
  bool totalFirst = false; ///< bytes kept on devices count before the node's

  int64_t getRoles() const { return getRanks() / dp; }
  int64_t getRanks() const { return pp * slots * replicas; }
  /// What bytes kept on the node and on the device are worth.
  assignment::Weight worth(int64_t node, int64_t device) const {
    return totalFirst ? assignment::Weight{device, node}
                      : assignment::Weight{node, device};
  }
};

struct Placement {
  /// [role * dp + replica] the device.
  llvm::SmallVector<int64_t> deviceOf;
  assignment::Weight kept;
};

/// Any rank anywhere. Exact. The devices must be as many as the ranks, at
/// least.
Placement placeAnywhere(const PlacementProblem &problem);

/// Tensor-parallel groups inside nodes, or on whole nodes where a group exceeds
/// one. With `pack`, on the fewest nodes. Nothing where the groups do not fit
/// the nodes. Exact for the groups that it tries (see docs/placement.md).
std::optional<Placement> placeInNodes(const PlacementProblem &problem,
                                      bool pack);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_PLACEMENT_H
