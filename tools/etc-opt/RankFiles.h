//===- RankFiles.h - --emit=ranks -----------------------------------------===//

#ifndef ETC_TOOLS_ETCOPT_RANKFILES_H
#define ETC_TOOLS_ETCOPT_RANKFILES_H

#include "Options.h"
#include "plan/plan_generated.h"

namespace etc {

/// The ranks of a plan: JSON, or the files of launchers where the output is a
/// directory. Returns the exit status.
int writeRanks(const PlannerOptions &options, const plan::fb::Plan &plan);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_RANKFILES_H
