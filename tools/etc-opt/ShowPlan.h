//===- ShowPlan.h - What a plan file says ---------------------------------===//

#ifndef ETC_TOOLS_ETCOPT_SHOWPLAN_H
#define ETC_TOOLS_ETCOPT_SHOWPLAN_H

#include "Options.h"

namespace etc {

/// Checks the plan file by the rules that etc-run checks, and writes its
/// summary, or what was asked for. Returns the exit status.
int showPlan(const PlannerOptions &options);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_SHOWPLAN_H
