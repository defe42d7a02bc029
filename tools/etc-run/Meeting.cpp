#include "Meeting.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
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

/// Rank 0's file in the rendezvous directory, gone with the object.
std::string meetingFile(const Options &options) {
  return options.rendezvous + "/etc-run-control";
}

Result<Meeting> offerMeeting(const Options &options) {
  Meeting meeting;
  const std::string token = randomSecretText();
  char name[256] = "127.0.0.1";
  if (options.host.empty())
    ::gethostname(name, sizeof name - 1);
  meeting.address.host = options.host.empty() ? name : options.host;
  Result<Secret> secret = makeSecret(token);
  if (!secret)
    return secret.status();
  meeting.secret = *secret;
  Result<Socket> listener = listenAt(meeting.address);
  if (!listener)
    return listener.status();
  meeting.listener = std::move(*listener);
  const std::string content =
      text(meeting.address.describe(), "\n", token, "\n");
  const std::string path = meetingFile(options), draft = path + ".part";
  int fd =
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool isWritten =
      fd >= 0 && ::write(fd, content.data(), content.size()) ==
                     static_cast<ssize_t>(content.size());
  const int error = errno;
  if (fd >= 0)
    ::close(fd);
  if (!isWritten || std::rename(draft.c_str(), path.c_str()) != 0)
    return Status(ErrorKind::Usage,
                  text(path, ": cannot write: ", std::strerror(error)));
  return meeting;
}

Result<Meeting> takeOffer(Member self, const Options &options) {
  auto deadline = Clock::now() + options.timeout;
  std::string address, token;
  do {
    std::ifstream file(meetingFile(options));
    if (std::getline(file, address) && std::getline(file, token)) {
      Result<Address> parsed = parseAddress(address);
      Result<Secret> secret = makeSecret(token);
      if (parsed && secret)
        return Meeting{*parsed, *secret, {}};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (Clock::now() < deadline);
  return Status(ErrorKind::Peer,
                text("rank ", self.rank, ": rank 0 has not come to ",
                     options.rendezvous, " within ",
                     options.timeout.count() / 1000.0, " s"));
}

/// What --control or the launcher says.
Result<Address> findAddress(const Options &options) {
  if (!options.control.empty())
    return parseAddress(options.control);
  const std::string host = readVariable("MASTER_ADDR");
  const std::string port = readVariable("MASTER_PORT");
  if (host.empty() || port.empty())
    return Status(ErrorKind::Usage,
                  "processes that a launcher started need --rendezvous=DIR, an "
                  "empty directory that all of them see, or "
                  "--control=HOST:PORT, or MASTER_ADDR and MASTER_PORT");
  Result<Address> address = parseAddress(host + ":" + port);
  // torchrun keeps a store of its own at the port that it tells.
  if (address && !readVariable("TORCHELASTIC_RUN_ID").empty())
    ++address->port;
  return address;
}

} // namespace

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
