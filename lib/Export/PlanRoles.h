//===- PlanRoles.h - Configurations and roles of a plan ---------*- C++ -*-===//

#ifndef ETC_LIB_EXPORT_PLANROLES_H
#define ETC_LIB_EXPORT_PLANROLES_H

#include "dialect/Etc.h"
#include "plan/plan_generated.h"

namespace etc {

std::unique_ptr<plan::fb::ConfigurationT>
configurationOf(ParallelAttr parallel);

/// Null where there is none.
std::unique_ptr<plan::fb::Role> roleOf(std::optional<RoleAttr> role);

} // namespace etc

#endif // ETC_LIB_EXPORT_PLANROLES_H
