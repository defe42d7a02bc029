#include "job/HubMeeting.h"

#include "core/transport/Reach.h"
#include "job/PrivateFile.h"

#include <algorithm>
#include <sstream>
#include <thread>
#include <unistd.h>

using namespace etc::runtime;
using Clock = std::chrono::steady_clock;

std::string etc::runtime::meetingFile(const std::string &directory) {
  return directory + "/etc-run-control";
}

/// Listens at an address of this host, for who knows the token.
static Result<HubMeeting> openAt(const std::string &host,
                                 const std::string &token) {
  Result<Secret> secret = makeSecret(token);
  if (!secret)
    return secret.status();
  Result<Listener> listener = listenAtHost(host);
  if (!listener)
    return listener.status();
  return HubMeeting{listener->address, *secret, std::move(listener->socket),
                    text(listener->address.describe(), "\n", token, "\n")};
}

Result<HubMeeting> etc::runtime::makeLocalMeeting() {
  return openAt(Address().host, randomSecretText());
}

namespace {

/// A meeting's file is as long as a refusal's message at most.
constexpr uint64_t kLongestOffer = 8192;
/// How long the others have to read why rank 0 cannot take part.
constexpr Milliseconds kRefusalStays{3000};
/// How long whoever listens at an address may take to answer.
constexpr Milliseconds kAnswer{1000};
/// The first line of a file that says why, in place of an address.
constexpr char kRefused[] = "refused";

/// The others wait for rank 0, which cannot take part: they learn why.
void refuseMeeting(const std::string &path, const Status &why,
                   Milliseconds timeout) {
  const std::string refusal = text(kRefused, "\n", why.message(), "\n");
  if (!writePrivate(path, refusal).ok())
    return;
  std::this_thread::sleep_for(std::min(timeout, kRefusalStays));
  (void)removePrivate(path, refusal);
}

Result<HubMeeting> readOffer(const std::string &path,
                             const std::string &content) {
  std::istringstream lines(content);
  std::string address, token;
  std::getline(lines, address);
  std::getline(lines, token);
  if (address == kRefused)
    return Status(ErrorKind::Usage, "rank 0: " + token);
  Result<Address> parsed = parseAddress(address);
  Result<Secret> secret = makeSecret(token);
  if (!parsed || !secret)
    return Status(ErrorKind::Usage,
                  path + ": is not a file of etc-run; remove it");
  return HubMeeting{*parsed, *secret, {}, content};
}

/// Whether anybody listens: rank 0 of a run that was killed does not.
bool isAnswered(const Address &address, Clock::time_point deadline) {
  return connectTo(address, std::min(deadline, Clock::now() + kAnswer)).ok();
}

} // namespace

Result<HubMeeting> etc::runtime::offerMeeting(const MeetingPlace &place) {
  const std::string path = meetingFile(place.directory);
  ::unlink(path.c_str()); // what a run that was killed has left
  const std::string token = randomSecretText();
  Result<HubMeeting> meeting = openAt(place.host, token);
  if (!meeting) {
    refuseMeeting(path, meeting.status(), place.timeout);
    return meeting;
  }
  Status written = writePrivate(path, meeting->offer);
  if (written.ok())
    return meeting;
  // A refusal may still fit where that did not: into the listener's descriptor.
  meeting->listener.close();
  refuseMeeting(path, written, place.timeout);
  return written;
}

bool etc::runtime::withdrawMeeting(const std::string &directory,
                                   const HubMeeting &meeting) {
  return removePrivate(meetingFile(directory), meeting.offer);
}

/// Waits for rank 0's file. One that nobody answers for is what an earlier run
/// left; rank 0 of this one is about to replace it.
Result<HubMeeting> etc::runtime::takeMeeting(const MeetingPlace &place,
                                             uint32_t rank) {
  const std::string path = meetingFile(place.directory);
  const auto deadline = Clock::now() + place.timeout;
  const std::string patience =
      text(" within ", place.timeout.count() / 1000.0, " s");
  std::string unanswered;
  do {
    Result<std::optional<std::string>> content =
        readPrivate(path, kLongestOffer);
    if (!content)
      return content.status();
    if (*content) {
      Result<HubMeeting> offer = readOffer(path, **content);
      if (!offer)
        return offer;
      if (isAnswered(offer->address, deadline))
        return offer;
      unanswered = offer->address.describe();
    }
    std::this_thread::sleep_for(Milliseconds(20));
  } while (Clock::now() < deadline);
  if (!unanswered.empty())
    return Status(
        ErrorKind::Peer,
        text(path, ": no process answered at ", unanswered, patience,
             "; if an earlier run that was killed left the file, remove it"));
  return Status(ErrorKind::Peer,
                text("rank ", rank, ": rank 0 did not appear in ",
                     place.directory, patience));
}
