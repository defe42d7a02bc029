// Where processes that have no store meet: at a hub, which rank 0 is.

#ifndef ETC_RUNTIME_JOB_HUBMEETING_H
#define ETC_RUNTIME_JOB_HUBMEETING_H

#include "core/net/Secret.h"
#include "core/net/Socket.h"
#include "core/transport/Deadline.h"

namespace etc::runtime {

/// The control channel's place and its secret. Rank 0 listens.
struct HubMeeting {
  Address address;
  Secret secret;
  Socket listener;        // rank 0's
  std::string offer = {}; // what the file says of it; empty: there is none
};

/// For processes that are forked later: listens on this host alone, under a new
/// secret.
Result<HubMeeting> makeLocalMeeting();

/// A directory that the processes of one user share.
struct MeetingPlace {
  std::string directory;
  std::string host; // at which others reach this one; may be empty
  Milliseconds timeout{};
};

/// The file that rank 0 leaves there and removes.
std::string meetingFile(const std::string &directory);

/// Rank 0 listens, and leaves address and secret in a file that only the same
/// user reads, or, where it cannot, why, for as long as the others need to read
/// that.
Result<HubMeeting> offerMeeting(const MeetingPlace &place);

/// Removes the file of this meeting. False where it is gone, or is by now that
/// of another run.
bool withdrawMeeting(const std::string &directory, const HubMeeting &meeting);

/// The others wait for that file. One that nobody answers for is what an
/// earlier run left; rank 0 of this one is about to replace it. Refused are
/// files of another user.
Result<HubMeeting> takeMeeting(const MeetingPlace &place, uint32_t rank);

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_HUBMEETING_H
