// A problem on the devices that may take a rank, or on some of these.

#ifndef ETC_LIB_OPTIMIZE_PLACEMENT_INSTANCE_H
#define ETC_LIB_OPTIMIZE_PLACEMENT_INSTANCE_H

#include "etc/Optimize/Placement/Solution.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace etc::placement {

/// A device that may take a rank.
struct Candidate {
  int64_t device, node;
  int64_t prevRole; ///< the role whose state it holds, or -1
};

struct Instance {
  const Problem &problem;
  llvm::SmallVector<Candidate> devices; ///< ascending by device, hence by node
};

/// All devices that may take a rank.
Instance instanceOf(const Problem &problem);

/// The nodes of an instance that a solution uses, and no other.
Instance restrictTo(const Instance &instance, const Solution &solution);

/// What the ranks keep on these devices [ranks].
assignment::Weight countKept(const Problem &problem,
                             llvm::ArrayRef<int64_t> deviceOf);

/// Any rank anywhere; exact. There must be as many devices as ranks.
Solution placeAnywhere(const Instance &instance);

/// Tensor-parallel groups on nodes, as the policy of the problem says. Nothing
/// where they do not fit.
std::optional<Solution> placeInNodes(const Instance &instance);

} // namespace etc::placement

#endif // ETC_LIB_OPTIMIZE_PLACEMENT_INSTANCE_H
