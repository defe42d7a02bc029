// The bound of a plan's time, in words.

#ifndef ETC_PLAN_TIMEBOUND_H
#define ETC_PLAN_TIMEBOUND_H

#include "plan/PlanIndex.h"

#include <string>

namespace etc::plan {

/// Seconds that no routing of the plan's roles is below; 0 where the plan
/// states no bound.
double boundSeconds(const fb::Plan &plan);

/// Why: "node 1 lacks 96.36 GB and has 8 x 50 GB/s". Empty without a bound.
std::string describeBound(const PlanIndex &index);

} // namespace etc::plan

#endif // ETC_PLAN_TIMEBOUND_H
