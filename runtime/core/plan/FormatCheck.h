// The first check of a plan's tables: every index in range, every list
// parallel, every box inside its tensor.

#ifndef ETC_PLAN_FORMATCHECK_H
#define ETC_PLAN_FORMATCHECK_H

#include "core/plan/Status.h"
#include "core/plan/plan_generated.h"

namespace etc::plan {

/// Checks a plan that passed FlatBuffers' verifier, so that PlanIndex can be
/// built over it. A message names the path:
/// "programs[3].rounds[17].ops[2].peer: 9 is not in [0, 8)".
Status checkFormat(const fb::Plan &plan);

} // namespace etc::plan

#endif // ETC_PLAN_FORMATCHECK_H
