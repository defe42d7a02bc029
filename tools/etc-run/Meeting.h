// Where the processes of a run meet.

#ifndef ETC_RUN_MEETING_H
#define ETC_RUN_MEETING_H

#include "Options.h"
#include "core/net/Secret.h"
#include "core/net/Socket.h"
#include "core/transport/Collectives.h"

#include <optional>

namespace etc::run {

/// The control channel's place and its secret. Rank 0 listens.
struct Meeting {
  runtime::Address address;
  runtime::Secret secret;
  runtime::Socket listener; // rank 0's

  /// "at HOST:PORT", or the directory that they know.
  std::string describe(const Options &options) const {
    return options.rendezvous.empty() ? "at " + address.describe()
                                      : "in " + options.rendezvous;
  }
};

/// A number from the environment; none where the variable is unset or anything
/// else.
std::optional<uint32_t> readNumber(const char *variable);

/// A process's place among those that a launcher started, from the environment
/// that torchrun, Open MPI or Slurm sets.
std::optional<runtime::Member> findLaunchedMember();

/// For processes that are forked later: listens on this host alone, under a new
/// secret.
plan::Result<Meeting> makeLocalMeeting();

/// The file in --rendezvous that rank 0 leaves and removes.
std::string meetingFile(const Options &options);

/// For a process that a launcher started. Through --rendezvous, rank 0 leaves
/// address and secret in a file that only the same user reads; else both come
/// from the command line or the environment. Where rank 0 cannot listen, the
/// file says why. Refused are files of another user.
plan::Result<Meeting> findMeeting(runtime::Member self, const Options &options);

} // namespace etc::run

#endif // ETC_RUN_MEETING_H
