// Where the processes of a run meet.

#ifndef ETC_RUN_MEETING_H
#define ETC_RUN_MEETING_H

#include "Options.h"
#include "core/transport/Collectives.h"
#include "job/HubMeeting.h"

#include <optional>

namespace etc::run {

using Meeting = runtime::HubMeeting;

/// "at HOST:PORT", or the directory that they know.
inline std::string describe(const Meeting &meeting, const Options &options) {
  return options.rendezvous.empty() ? "at " + meeting.address.describe()
                                    : "in " + options.rendezvous;
}

/// A number from the environment; none where the variable is unset or anything
/// else.
std::optional<uint32_t> readNumber(const char *variable);

/// A process's place among those that a launcher started, from the environment
/// that torchrun, Open MPI or Slurm sets.
std::optional<runtime::RankAndCount> findLaunchedRank();

/// For a process that a launcher started: address and secret come from the file
/// in --rendezvous, else from the command line or the environment.
plan::Result<Meeting> findMeeting(runtime::RankAndCount self,
                                  const Options &options);

} // namespace etc::run

#endif // ETC_RUN_MEETING_H
