#include "Meeting.h"

#include "core/net/OwnAddress.h"
#include "job/PrivateFile.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>
#include <unistd.h>

using namespace etc::run;
using namespace etc::runtime;
using etc::plan::ErrorKind;
using etc::plan::text;
using Clock = std::chrono::steady_clock;

static std::string readVariable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::optional<uint32_t> etc::run::readNumber(const char *variable) {
  const std::string value = readVariable(variable);
  uint32_t number = 0;
  const char *end = value.data() + value.size();
  auto [stop, error] = std::from_chars(value.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number)
                                             : std::nullopt;
}

std::optional<Member> etc::run::findLaunchedMember() {
  for (auto [rankName, countName] :
       {std::pair("RANK", "WORLD_SIZE"),
        std::pair("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        std::pair("SLURM_PROCID", "SLURM_NTASKS")}) {
    auto rank = readNumber(rankName), count = readNumber(countName);
    if (rank && count && *rank < *count)
      return Member{*rank, *count};
  }
  return std::nullopt;
}

Result<Meeting> etc::run::makeLocalMeeting() {
  Meeting meeting;
  Result<Secret> secret = makeSecret(randomSecretText());
  if (!secret)
    return secret.status();
  meeting.secret = *secret;
  Result<Socket> listener = listenAt(meeting.address);
  if (!listener)
    return listener.status();
  meeting.listener = std::move(*listener);
  return meeting;
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

Result<Meeting> openMeeting(const Options &options, const std::string &token) {
  Result<std::string> host = findOwnAddress(options.host);
  if (!host)
    return host.status();
  Meeting meeting;
  meeting.address.host = *host;
  Result<Secret> secret = makeSecret(token);
  if (!secret)
    return secret.status();
  meeting.secret = *secret;
  Result<Socket> listener = listenAt(meeting.address);
  if (!listener)
    return listener.status();
  meeting.listener = std::move(*listener);
  return meeting;
}

/// The others wait for rank 0, which cannot take part: they learn why.
void refuseMeeting(const std::string &path, const Status &why,
                   Milliseconds timeout) {
  if (!writePrivate(path, text(kRefused, "\n", why.message(), "\n")).ok())
    return;
  std::this_thread::sleep_for(std::min(timeout, kRefusalStays));
  ::unlink(path.c_str());
}

Result<Meeting> offerMeeting(const Options &options) {
  const std::string path = meetingFile(options);
  ::unlink(path.c_str()); // what a run that was killed has left
  const std::string token = randomSecretText();
  Result<Meeting> meeting = openMeeting(options, token);
  if (!meeting) {
    refuseMeeting(path, meeting.status(), options.timeout);
    return meeting;
  }
  Status written =
      writePrivate(path, text(meeting->address.describe(), "\n", token, "\n"));
  return written.ok() ? std::move(meeting) : Result<Meeting>(written);
}

Result<Meeting> readOffer(const std::string &content) {
  std::istringstream lines(content);
  std::string address, token;
  std::getline(lines, address);
  std::getline(lines, token);
  if (address == kRefused)
    return Status(ErrorKind::Usage, "rank 0: " + token);
  Result<Address> parsed = parseAddress(address);
  Result<Secret> secret = makeSecret(token);
  if (!parsed || !secret)
    return Status(ErrorKind::Usage, "is not a file of etc-run; remove it");
  return Meeting{*parsed, *secret, {}};
}

/// Whether anybody listens: rank 0 of a run that was killed does not.
bool isAnswered(const Address &address, Clock::time_point deadline) {
  return connectTo(address, std::min(deadline, Clock::now() + kAnswer)).ok();
}

/// Waits for rank 0's file. One that nobody answers for is what an earlier run
/// left; rank 0 of this one is about to replace it.
Result<Meeting> takeOffer(Member self, const Options &options) {
  const std::string path = meetingFile(options);
  if (!std::filesystem::is_directory(options.rendezvous))
    return Status(ErrorKind::Usage,
                  options.rendezvous +
                      ": is not a directory; --rendezvous takes "
                      "an empty one that all hosts share");
  const auto deadline = Clock::now() + options.timeout;
  const std::string patience =
      text(" within ", options.timeout.count() / 1000.0, " s");
  std::string unanswered;
  do {
    Result<std::optional<std::string>> content =
        readPrivate(path, kLongestOffer);
    if (!content)
      return content.status();
    if (*content) {
      Result<Meeting> offer = readOffer(**content);
      if (!offer)
        return offer.status().at(path);
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
                text("rank ", self.rank, ": rank 0 did not appear in ",
                     options.rendezvous, patience));
}

/// What --control or the launcher says.
Result<Address> findAddress(const Options &options) {
  if (!options.control.empty())
    return parseAddress(options.control);
  const std::string host = readVariable("MASTER_ADDR");
  const std::string port = readVariable("MASTER_PORT");
  if (host.empty() || port.empty())
    return Status(ErrorKind::Usage,
                  "processes started by a launcher need --rendezvous=DIR, an "
                  "empty directory that all of them share, or "
                  "--control=HOST:PORT, or MASTER_ADDR and MASTER_PORT");
  Result<Address> address = parseAddress(host + ":" + port);
  // torchrun keeps a store of its own at the port that it tells.
  if (address && !readVariable("TORCHELASTIC_RUN_ID").empty())
    ++address->port;
  return address;
}

} // namespace

std::string etc::run::meetingFile(const Options &options) {
  return options.rendezvous + "/etc-run-control";
}

Result<Meeting> etc::run::findMeeting(Member self, const Options &options) {
  if (!options.rendezvous.empty())
    return self.rank == 0 ? offerMeeting(options) : takeOffer(self, options);
  Result<Address> address = findAddress(options);
  if (!address)
    return address.status();
  Result<Secret> secret = makeSecret(readVariable("ETC_JOB_TOKEN"));
  if (!secret)
    return Status(ErrorKind::Usage,
                  "set ETC_JOB_TOKEN to the same secret of 16 to 64 characters "
                  "for all processes of the job (openssl rand -hex 32 makes "
                  "one)");
  Meeting meeting{*address, *secret, {}};
  if (self.rank == 0) {
    Result<Socket> listener = listenAt(meeting.address);
    if (!listener)
      return listener.status();
    meeting.listener = std::move(*listener);
  }
  return meeting;
}
