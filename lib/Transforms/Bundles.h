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

/// Bundles of groups that fit a node, which fill the fewest nodes; none where
/// they do not fit. Groups follow each other by stage or by replica, neighbours
/// together or strided.
llvm::SmallVector<Cut> packedCuts(const PlacementProblem &problem);

/// Whether a tensor-parallel group is larger than any node.
bool exceedsNode(const PlacementProblem &problem);

/// The sizes of the parts that such a group may be cut into: of the largest
/// node, with a smaller rest, or all about as large.
llvm::SmallVector<int64_t, 2> partSizes(const PlacementProblem &problem);

/// Groups that exceed a node, in parts of one size: of strided ranks on the
/// stages that `isStrided` names, of neighbouring ones on the others. Nothing
/// where there are fewer nodes than parts.
std::optional<Cut> spreadCut(const PlacementProblem &problem, int64_t size,
                             llvm::ArrayRef<bool> isStrided);

/// How many groups find a node that holds them.
int64_t countSeats(const PlacementProblem &problem);

/// Whether a placement splits no group over more nodes than it has to, and,
/// with `pack`, uses no more nodes than it has to.
bool keepsGroups(const PlacementProblem &problem, const Placement &placement,
                 bool pack);

/// Every group by itself, on slots of its size: neighbouring devices of a node,
/// or strided ones. None where a group exceeds a node.
llvm::SmallVector<Cut> slotCuts(const PlacementProblem &problem);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_BUNDLES_H
