//===- JointPlacement.h - Devices and pairs, decided together -------------===//

#ifndef ETC_LIB_TRANSFORMS_JOINTPLACEMENT_H
#define ETC_LIB_TRANSFORMS_JOINTPLACEMENT_H

#include "etc/Analysis/Benefits.h"
#include "etc/Optimize/Placement/Entering.h"

namespace etc {

/// The problem of placement of a migration.
placement::Problem posePlacement(MigrationOp migration, const Devices &devices,
                                 const Benefits &benefits);

/// The policy of `place`, which is any where it is absent.
placement::Policy policyOf(std::optional<Place> place);

/// The device of every current rank, from that of every replica of every role.
llvm::SmallVector<int64_t> toRanks(ParallelAttr curr,
                                   llvm::ArrayRef<int64_t> deviceOf);

/// A solution of the problem, of which as little as is found enters nodes.
std::optional<placement::Solution> solvePlacement(
    const placement::Problem &problem,
    llvm::function_ref<std::optional<placement::Entering>()> listEntering);

/// The device of every current rank: those that the request fixes, or a
/// solution of the problem. Emits the error where groups do not fit.
mlir::FailureOr<llvm::SmallVector<int64_t>>
placeJointly(MigrationOp migration, const Devices &devices,
             const Benefits &benefits, const TensorTable &table,
             const BothHoldings &holdings, bool totalFirst);

/// Makes the pairs those of a placement: each rank comes from what its device
/// was.
void rewritePairs(MigrationOp migration, const Devices &devices,
                  llvm::ArrayRef<int64_t> placement);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_JOINTPLACEMENT_H
