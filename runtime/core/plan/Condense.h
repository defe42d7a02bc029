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
/// its rounds. A plan that is condensed already, or of which expandPlan
/// would refuse what comes out, is copied.
std::vector<uint8_t> condensePlan(std::span<const uint8_t> bytes);

/// What a condensed plan states, without `condensed`; an error if its tables
/// refer to what is not there, or state more than a file of `fileBytes` may ask
/// a reader's memory for. Needs an intact FlatBuffers structure only. The
/// result is to pass checkFormat.
Result<fb::PlanT> expandPlan(const fb::Plan &plan, uint64_t fileBytes);

} // namespace etc::plan

#endif // ETC_PLAN_CONDENSE_H
