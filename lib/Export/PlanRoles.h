//===- PlanRoles.h - Configurations and roles of a plan ---------*- C++ -*-===//

#ifndef ETC_LIB_EXPORT_PLANROLES_H
#define ETC_LIB_EXPORT_PLANROLES_H

#include "core/plan/plan_generated.h"
#include "dialect/Etc.h"

namespace etc {

std::unique_ptr<plan::fb::ConfigurationT>
configurationOf(ParallelAttr parallel);

/// Null where there is none.
std::unique_ptr<plan::fb::Role> roleOf(std::optional<RoleAttr> role);

} // namespace etc

#endif // ETC_LIB_EXPORT_PLANROLES_H
