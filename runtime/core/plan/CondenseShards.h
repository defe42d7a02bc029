// The shards of a plan that is being condensed; private to condensePlan.

#ifndef ETC_PLAN_CONDENSESHARDS_H
#define ETC_PLAN_CONDENSESHARDS_H

#include "core/plan/BoxTable.h"
#include "core/plan/plan_generated.h"

#include <vector>

namespace etc::plan {

/// States equal lists of boxes once, and what programs hold as lists of shards.
/// Boxes, of `oldBounds` so far, go to `boxes`.
void condenseShards(fb::PlanT &plan, const std::vector<int64_t> &oldBounds,
                    BoxTable &boxes, fb::CondensedT &out);

/// Gives each shard boxes of its own again, behind those of the shards before.
void expandShards(fb::PlanT &plan);

} // namespace etc::plan

#endif // ETC_PLAN_CONDENSESHARDS_H
