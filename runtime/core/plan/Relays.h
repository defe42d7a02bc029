// What devices pass on that they have received in the same migration.

#ifndef ETC_PLAN_RELAYS_H
#define ETC_PLAN_RELAYS_H

#include "core/plan/PlanIndex.h"

#include <span>

namespace etc::plan {

/// Bytes that are sent on from current state and in transit, over all devices.
/// `copies` says how many devices each rank stands for; empty: one each.
uint64_t relayedBytes(const PlanIndex &index,
                      std::span<const uint64_t> copies = {});

} // namespace etc::plan

#endif // ETC_PLAN_RELAYS_H
