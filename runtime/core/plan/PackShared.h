// Packing that states equal types and shapes once; private to condensePlan.

#ifndef ETC_PLAN_PACKSHARED_H
#define ETC_PLAN_PACKSHARED_H

#include "core/plan/plan_generated.h"

#include <cstdint>
#include <vector>

namespace etc::plan {

/// As packPlan, of a condensed plan, with each type and shape of a tensor once.
std::vector<uint8_t> packShared(fb::PlanT plan);

} // namespace etc::plan

#endif // ETC_PLAN_PACKSHARED_H
