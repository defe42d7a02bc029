#include "Meeting.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>

using namespace etc::run;
using namespace etc::runtime;
using etc::plan::ErrorKind;
using etc::plan::text;

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

std::optional<RankAndCount> etc::run::findLaunchedRank() {
  for (auto [rankName, countName] :
       {std::pair("RANK", "WORLD_SIZE"),
        std::pair("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        std::pair("SLURM_PROCID", "SLURM_NTASKS")}) {
    auto rank = readNumber(rankName), count = readNumber(countName);
    if (rank && count && *rank < *count)
      return RankAndCount{*rank, *count};
  }
  return std::nullopt;
}

namespace {

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

/// The directory that all know.
static Result<Meeting> meetIn(const Options &options, uint32_t rank) {
  const MeetingPlace place{options.rendezvous, options.host, options.timeout};
  if (rank == 0)
    return offerMeeting(place);
  if (!std::filesystem::is_directory(options.rendezvous))
    return Status(ErrorKind::Usage,
                  options.rendezvous +
                      ": is not a directory; --rendezvous takes "
                      "an empty one that all hosts share");
  return takeMeeting(place, rank);
}

Result<Meeting> etc::run::findMeeting(RankAndCount self,
                                      const Options &options) {
  if (!options.rendezvous.empty())
    return meetIn(options, self.rank);
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
