//===- PlanRoleBound.h - The bound over all roles in a plan -----*- C++ -*-===//

#ifndef ETC_LIB_VERIFY_PLANROLEBOUND_H
#define ETC_LIB_VERIFY_PLANROLEBOUND_H

#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"

namespace etc {

/// Checks that the plan itself is no faster than its bound over all roles: some
/// link or NIC needs as long for its bytes. The rest of the proof depends on
/// the request's place, which no file states.
plan::Status verifyRoleBound(const plan::PlanIndex &index);

} // namespace etc

#endif // ETC_LIB_VERIFY_PLANROLEBOUND_H
