//===- PlanResources.h - Rates, and the bound that rests on them ----------===//

#ifndef ETC_LIB_EXPORT_PLANRESOURCES_H
#define ETC_LIB_EXPORT_PLANRESOURCES_H

#include "core/plan/plan_generated.h"
#include "dialect/Etc.h"

namespace etc {

/// Writes what links and NICs carry and the bound of time into a plan, where
/// the migration states them.
void writeResources(MigrationOp migration, plan::fb::PlanT &plan);

} // namespace etc

#endif // ETC_LIB_EXPORT_PLANRESOURCES_H
