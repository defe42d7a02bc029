//===- CheckOptions.h - Which options go together -------------------------===//

#ifndef ETC_TOOLS_ETCOPT_CHECKOPTIONS_H
#define ETC_TOOLS_ETCOPT_CHECKOPTIONS_H

#include "Options.h"

namespace etc {

/// Whether the options suit several requests that follow each other, or one;
/// else says why not and returns the exit status. Before the requests are
/// linked, which rejects what an option put into each of them.
int checkChain(const PlannerOptions &options);

/// Whether the options go together with the request, its policy and each other;
/// else says why not and returns the exit status.
int checkOptions(const PlannerOptions &options,
                 const request::Request &request);

/// Whether the options that say what to write, and how, go together and suit a
/// cluster of so many devices; else says why not and returns the exit status.
int checkOutput(const PlannerOptions &options, int64_t clusterDevices);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_CHECKOPTIONS_H
