//===- PlanRoleBound.h - The bound over all roles in a plan -----*- C++ -*-===//

#ifndef ETC_LIB_VERIFY_PLANROLEBOUND_H
#define ETC_LIB_VERIFY_PLANROLEBOUND_H

#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"
#include "dialect/Etc.h"

namespace etc {

/// Checks the proof of a plan's bound over all roles, by the plan's own shards
/// and for the place that the bound states: what V17 checks of the IR.
plan::Status verifyRoleBound(const plan::PlanIndex &index);

Place placeOf(plan::fb::Place place);

} // namespace etc

#endif // ETC_LIB_VERIFY_PLANROLEBOUND_H
