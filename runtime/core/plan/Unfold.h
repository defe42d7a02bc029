// Plans of lanes: where a device and its neighbours of a tensor-parallel group
// do the same with parts that follow each other, one of them is stated for all.
// docs/plan-format.md explains the tables.

#ifndef ETC_PLAN_UNFOLD_H
#define ETC_PLAN_UNFOLD_H

#include "core/plan/Status.h"
#include "core/plan/plan_generated.h"

#include <cstdint>

namespace etc::plan {

/// That the plan of one lane can be unfolded, and that the plan of all lanes
/// needs no more memory than a file of `fileBytes` may ask for. `planBytes` are
/// those of the plan of one lane, which passed checkFormat.
Status checkLanes(const fb::Plan &plan, uint64_t planBytes, uint64_t fileBytes);

/// The plan of all lanes, without `lanes`, of one that passed checkLanes. The
/// result is to pass checkFormat.
fb::PlanT unfoldPlan(const fb::Plan &plan);
/// The same without what programs hold and do: no rounds, shards and boxes. It
/// serves the lookups of devices, and does not pass checkFormat.
fb::PlanT unfoldOutline(const fb::Plan &plan);

} // namespace etc::plan

#endif // ETC_PLAN_UNFOLD_H
