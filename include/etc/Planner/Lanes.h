//===- Lanes.h - One plan for all ranks of a group --------------*- C++ -*-===//
//
// Where both sides have as many tensor-parallel ranks, which are neighbours in
// every order of ranks, it makes no difference to call each rank of all groups
// by the number of the next: what rank l of a group holds of a tensor lies l
// parts further on than what rank 0 holds. All ranks with the number l are lane
// l. A plan is then made for lane 0, as if it were a job of its own, and is
// right for the others, too (docs/decisions).
//
//===----------------------------------------------------------------------===//

#ifndef ETC_PLANNER_LANES_H
#define ETC_PLANNER_LANES_H

#include "etc/Planner/PlanRequest.h"

namespace etc {

/// The attribute of a migration of a lane: how many there are.
inline constexpr llvm::StringLiteral lanesMark = "etc.lanes";

/// The request of one lane: no tensor parallelism, a device for each group, and
/// tensors of the size of a part. Nothing where lanes are not alike, where
/// replicas hold nothing of their own, so that a plan of all lanes is as small,
/// or where there are fewer devices than `lanesFrom`.
std::optional<request::Request> laneOf(const request::Request &request,
                                       int64_t lanesFrom);

/// Makes the plans of the request of a lane those of the request of all.
mlir::LogicalResult stateLanes(PlannedRequest &planned,
                               const request::Request &lane,
                               const request::Request &all);

} // namespace etc

#endif // ETC_PLANNER_LANES_H
