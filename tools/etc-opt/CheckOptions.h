//===- CheckOptions.h - Which options go together -------------------------===//

#ifndef ETC_TOOLS_ETCOPT_CHECKOPTIONS_H
#define ETC_TOOLS_ETCOPT_CHECKOPTIONS_H

#include "Options.h"

namespace etc {

/// Whether the options go together with the request, its policy and each other;
/// else says why not and returns the exit status.
int checkOptions(const PlannerOptions &options, const config::Request &request);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_CHECKOPTIONS_H
