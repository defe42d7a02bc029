// A rank's own part of a plan, as a plan file of its own.

#ifndef ETC_PLAN_SLICE_H
#define ETC_PLAN_SLICE_H

#include "core/plan/Fingerprint.h"

namespace etc::plan {

/// The bytes of the plan file of one rank: its program, the tensors and boxes
/// that the program names, the plan's header, and the proof that they are of
/// this plan. Processes with slices and processes with the whole plan run a
/// migration together. `index` is of a whole plan that passed the referee,
/// `tree` is of it, and `rank` one of its ranks.
std::vector<uint8_t> slicePlan(const PlanIndex &index,
                               const FingerprintTree &tree, uint32_t rank);

} // namespace etc::plan

#endif // ETC_PLAN_SLICE_H
