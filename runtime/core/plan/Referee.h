// The referee: does a plan migrate what it says it does? It looks at boxes
// alone and shares no code with a planner. docs/plan-format.md numbers the
// rules.

#ifndef ETC_PLAN_REFEREE_H
#define ETC_PLAN_REFEREE_H

#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"

namespace etc::plan {

/// Checks a plan that passed checkFormat against rules R1 to R10. Programs are
/// checked once each, whatever the number of their devices. A message names the
/// path, the tensors and the devices.
///
/// `lane` is what the plan was unfolded from (PlanFile::lane), or null. The
/// rules of programs and of their messages are checked of it: unfolding shifts
/// all boxes of a tensor alike and keeps peers in their lane, so that what
/// holds in one lane holds in all.
Status checkPlan(const PlanIndex &index, const fb::Plan *lane = nullptr);
Status checkPlan(const fb::Plan &plan);

} // namespace etc::plan

#endif // ETC_PLAN_REFEREE_H
