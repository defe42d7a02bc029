// Processes on this host, one a participant.

#ifndef ETC_RUN_LAUNCH_H
#define ETC_RUN_LAUNCH_H

#include "Process.h"

namespace etc::run {

/// Forks a process for every participant and waits for all. When one fails the
/// others end too, at the latest after the timeout, and the result is the first
/// cause. The caller must not have started threads.
RunResult launchProcesses(const plan::PlanIndex &index, Options options,
                          const runtime::RunOptions &runOptions);

} // namespace etc::run

#endif // ETC_RUN_LAUNCH_H
