// The bound over all roles in a plan.

#ifndef ETC_PROOF_PLANROLEBOUND_H
#define ETC_PROOF_PLANROLEBOUND_H

#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"

namespace etc {

/// Checks the proof of a plan's bound over all roles, by the plan's own shards
/// and for the place that the bound states: what V17 checks of the IR.
plan::Status verifyRoleBound(const plan::PlanIndex &index);

} // namespace etc

#endif // ETC_PROOF_PLANROLEBOUND_H
