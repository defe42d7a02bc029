#include "capi/Migration.h"

using namespace etc::runtime;

static Milliseconds milliseconds(double seconds) {
  return Milliseconds(
      std::max<int64_t>(1, static_cast<int64_t>(seconds * 1000)));
}

Result<MigrationOptions> etc::runtime::checkOptions(const etc_options &given,
                                                    const PlanIndex &index) {
  auto refuse = [](const std::string &what) {
    return Status(ErrorKind::Usage, what);
  };
  if (given.participant >= index.rankCount())
    return refuse(text("participant ", given.participant, ": the plan has ",
                       index.rankCount(), " participants"));
  if (!index.hasProgramOf(given.participant))
    return refuse(text("participant ", given.participant,
                       ": the plan is the slice of participant ",
                       index.plan().slice()->rank()));
  if (given.transport != ETC_TCP && given.transport != ETC_NCCL)
    return refuse(
        text("transport ", given.transport, ": expected ETC_TCP or ETC_NCCL"));
  if (given.mode != ETC_EAGER && given.mode != ETC_SAFE)
    return refuse(
        text("mode ", given.mode, ": expected ETC_EAGER or ETC_SAFE"));
  if (!(given.timeout_seconds >= 0 && given.timeout_seconds < 1e9))
    return refuse(text("timeout_seconds ", given.timeout_seconds,
                       ": expected seconds, or 0 for the default"));
  if (!(given.meeting_seconds >= 0 && given.meeting_seconds < 1e9))
    return refuse(text("meeting_seconds ", given.meeting_seconds,
                       ": expected seconds, or 0 for timeout_seconds"));
  if (!(given.silence_seconds < 1e9) ||
      (given.silence_seconds > 0 && given.silence_seconds < 1))
    return refuse(text("silence_seconds ", given.silence_seconds,
                       ": expected 1 or more, 0 for the default, or a negative "
                       "number for never"));
  if (!(given.tail_bytes_per_second >= 0 && given.tail_bytes_per_second < 1e15))
    return refuse(text("tail_bytes_per_second ", given.tail_bytes_per_second,
                       ": expected bytes a second, or 0 for no limit"));
  if (given.encrypt > 1 || (given.encrypt && given.transport != ETC_TCP))
    return refuse(text("encrypt ", given.encrypt, " over ",
                       given.transport == ETC_TCP ? "TCP" : "NCCL",
                       ": expected 0, or 1 over TCP"));
  const bool hasStore = given.store.set && given.store.get;
  if (!hasStore && !given.directory && index.rankCount() > 1)
    return refuse("participants have no way to find each other: set store or "
                  "directory");
  MigrationOptions options;
  const double seconds =
      given.timeout_seconds > 0 ? given.timeout_seconds : 300;
  options.bootstrap.rank = given.participant;
  options.bootstrap.transport = given.transport;
  options.bootstrap.mode = given.mode;
  options.bootstrap.gpu = static_cast<unsigned>(std::max(given.gpu, 0));
  options.bootstrap.isEncrypted = given.encrypt != 0;
  options.bootstrap.host = given.host ? given.host : "";
  options.bootstrap.timeout = milliseconds(seconds);
  options.bootstrap.meeting =
      milliseconds(given.meeting_seconds > 0 ? given.meeting_seconds : seconds);
  options.bootstrap.generation = given.generation;
  options.bootstrap.silence =
      given.silence_seconds < 0    ? Milliseconds::max() / 2
      : given.silence_seconds == 0 ? Milliseconds(5000)
                                   : milliseconds(given.silence_seconds);
  if (given.tail_bytes_per_second > 0)
    options.bootstrap.tailRate = std::max<uint64_t>(
        1, static_cast<uint64_t>(given.tail_bytes_per_second));
  options.tag = given.tag ? given.tag : "etc";
  options.store = hasStore ? given.store : etc_store{};
  options.directory = given.directory ? given.directory : "";
  options.memory = given.memory;
  options.progress = given.progress;
  options.progressContext = given.progress_context;
  return options;
}
