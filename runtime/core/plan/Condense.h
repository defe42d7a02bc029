// Condensed plans, the form of a plan in a file: what devices do together is
// stated once for all of them, and its parts over rounds by rule.
// docs/plan-format.md explains the tables.

#ifndef ETC_PLAN_CONDENSE_H
#define ETC_PLAN_CONDENSE_H

#include "core/plan/Status.h"
#include "core/plan/plan_generated.h"

#include <cstdint>
#include <span>
#include <vector>

namespace etc::plan {

/// The bytes of a file that states a packed plan that passed checkFormat. A
/// program whose operations the rules would not give in the same order keeps
/// its rounds. A plan that is condensed already, or of which checkCondensed
/// would refuse what comes out, is copied.
std::vector<uint8_t> condensePlan(std::span<const uint8_t> bytes);

/// That the tables of a condensed plan refer to what is there, and that the
/// plan that they state needs no more memory than a file of `fileBytes` may ask
/// for. Needs an intact FlatBuffers structure only.
Status checkCondensed(const fb::Plan &plan, uint64_t fileBytes);

/// What a plan that passed checkCondensed states, without `condensed`. The
/// result is to pass checkFormat.
fb::PlanT expandPlan(const fb::Plan &plan);

} // namespace etc::plan

#endif // ETC_PLAN_CONDENSE_H
