// How much more than its state a device needs in a migration.

#ifndef ETC_PLAN_PEAKRATIOS_H
#define ETC_PLAN_PEAKRATIOS_H

#include "core/plan/PlanIndex.h"

namespace etc::plan {

/// The bytes that a device of a program holds on one side.
uint64_t heldBytes(const PlanIndex &index, uint32_t program, Side side);
/// The larger of its two states.
uint64_t stateBytes(const PlanIndex &index, uint32_t program);

/// The worst peak over max(prev, curr) of all devices, rounded up to four
/// decimals.
struct PeakRatios {
  double peak, peakSafe;
};
PeakRatios peakRatios(const PlanIndex &index);

} // namespace etc::plan

#endif // ETC_PLAN_PEAKRATIOS_H
