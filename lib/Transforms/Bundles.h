//===- Bundles.h - Ranks that must share a node ---------------------------===//

#ifndef ETC_LIB_TRANSFORMS_BUNDLES_H
#define ETC_LIB_TRANSFORMS_BUNDLES_H

#include "Placement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"

namespace etc {

/// Ranks (role * dp + replica) that go to one host.
struct Bundle {
  llvm::SmallVector<int64_t> ranks;
  int64_t dp;

  /// Ascending, with repeats.
  llvm::SmallVector<int64_t> getRoles() const {
    auto roles =
        llvm::map_to_vector(ranks, [&](int64_t rank) { return rank / dp; });
    llvm::sort(roles);
    return roles;
  }
};

/// Devices of one node that take one bundle: all of them, or a slot of them.
struct Host {
  int64_t node;
  llvm::SmallVector<Candidate> devices;

  /// Ascending, with repeats; -1 for a device that holds nothing.
  llvm::SmallVector<int64_t> getPrevRoles() const {
    auto roles = llvm::map_to_vector(
        devices, [](const Candidate &candidate) { return candidate.prevRole; });
    llvm::sort(roles);
    return roles;
  }
};

/// One way to cut ranks into bundles and nodes into hosts.
struct Cut {
  llvm::SmallVector<Bundle> bundles;
  llvm::SmallVector<Host> hosts;
};

/// Bundles that fill the fewest nodes, none where tensor-parallel groups do not
/// fit. Groups that fit a node follow each other by stage or by replica,
/// neighbours together or strided. A group that exceeds a node is cut into
/// whole nodes, of neighbouring ranks or strided ones.
llvm::SmallVector<Cut> packedCuts(const PlacementProblem &problem);

/// Whether a tensor-parallel group is larger than any node.
bool exceedsNode(const PlacementProblem &problem);

/// Groups that exceed a node, cut into whole nodes: of strided ranks on the
/// stages that `isStrided` names, of neighbouring ones on the others.
std::optional<Cut> spreadCut(const PlacementProblem &problem,
                             llvm::ArrayRef<bool> isStrided);

/// Every group by itself, on slots of its size: neighbouring devices of a node,
/// or strided ones. None where a group exceeds a node.
llvm::SmallVector<Cut> slotCuts(const PlacementProblem &problem);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_BUNDLES_H
