//===- RankFiles.h - --emit=ranks -----------------------------------------===//

#ifndef ETC_TOOLS_ETCOPT_RANKFILES_H
#define ETC_TOOLS_ETCOPT_RANKFILES_H

#include "Options.h"
#include "core/plan/plan_generated.h"

namespace etc {

/// The ranks of a plan: JSON, or the files of launchers where the output is a
/// directory. `hosts` are the names of its nodes, or none. Returns the exit
/// status.
int writeRanks(const PlannerOptions &options, std::vector<std::string> hosts,
               const plan::fb::Plan &plan);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_RANKFILES_H
