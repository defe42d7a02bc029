// What devices pass on that they have received in the same migration.

#ifndef ETC_PLAN_RELAYS_H
#define ETC_PLAN_RELAYS_H

#include "core/plan/PlanIndex.h"

namespace etc::plan {

/// Bytes that are sent on from current state and in transit, over all devices.
uint64_t relayedBytes(const PlanIndex &index);

} // namespace etc::plan

#endif // ETC_PLAN_RELAYS_H
