//===- Planner.h - From a request to an output ----------------------------===//

#ifndef ETC_TOOLS_ETCOPT_PLANNER_H
#define ETC_TOOLS_ETCOPT_PLANNER_H

#include "Options.h"
#include "etc/Planner/PlanRequest.h"

namespace etc {

/// Plans the request and writes what was asked for; nothing half written.
/// Returns the exit status.
int runPlanner(const PlannerOptions &options);

/// How the options say to plan, MLIR's for passes included.
PlanOptions planOptions(const PlannerOptions &options);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_PLANNER_H
