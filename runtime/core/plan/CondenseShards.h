// The shards of a condensed plan; private to condensePlan and expandPlan.

#ifndef ETC_PLAN_CONDENSESHARDS_H
#define ETC_PLAN_CONDENSESHARDS_H

#include "core/plan/CondensedLists.h"
#include "core/plan/MovedBoxes.h"
#include "core/plan/plan_generated.h"

#include <vector>

namespace etc::plan {

/// Shards with equal lists of at most so many boxes share it. A file could ask
/// for longer ones, which take time to look at, again and again.
constexpr uint32_t kMostSharedBoxes = 8;

/// States what programs hold as lists of shards, and lists of boxes once. Moves
/// the plan's shards and boxes.
void condenseShards(fb::PlanT &plan, MovedBoxes &boxes, CondensedLists &out);

/// Gives each shard boxes of its own again, behind those of the shards before.
void expandShards(fb::PlanT &plan);

} // namespace etc::plan

#endif // ETC_PLAN_CONDENSESHARDS_H
