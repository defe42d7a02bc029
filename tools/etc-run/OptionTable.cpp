#include "OptionTable.h"

#include <charconv>
#include <cmath>

using namespace etc::run;

namespace {

template <typename Number>
bool readNumber(std::string_view value, Number &number) {
  const char *end = value.data() + value.size();
  auto [stop, error] = std::from_chars(value.data(), end, number);
  return error == std::errc() && stop == end;
}

/// Sets `target` to the choice that `value` names.
template <typename Choice>
bool choose(std::string_view value, Choice &target,
            std::initializer_list<std::pair<std::string_view, Choice>> all) {
  for (const auto &[name, choice] : all)
    if (name == value) {
      target = choice;
      return true;
    }
  return false;
}

/// A positive number of seconds.
bool readSeconds(std::string_view value, std::chrono::milliseconds &target) {
  double seconds = 0;
  if (!readNumber(value, seconds) || !(seconds > 0) || seconds > 1e6)
    return false;
  target = std::chrono::milliseconds(
      static_cast<int64_t>(std::ceil(seconds * 1000)));
  return true;
}

bool readPath(std::string_view value, std::string &target) {
  target = value;
  return !value.empty();
}

/// "3,7".
bool readList(std::string_view value, std::vector<uint32_t> &target) {
  target.clear();
  while (true) {
    size_t comma = value.find(',');
    uint32_t number;
    if (!readNumber(value.substr(0, comma), number))
      return false;
    target.push_back(number);
    if (comma == std::string_view::npos)
      return true;
    value.remove_prefix(comma + 1);
  }
}

const Option kOptions[] = {
    {"--transport", "local|tcp|nccl",
     "local: every device is a thread of this process (default);\n"
     "tcp: one process a device, over TCP;\n"
     "nccl: one process a device, each on a GPU",
     [](Options &o, std::string_view v) {
       return choose(v, o.transport,
                     {{"local", TransportKind::Local},
                      {"tcp", TransportKind::Tcp},
                      {"nccl", TransportKind::Nccl}});
     }},
    {"--memory", "host|cuda",
     "where the devices of --transport=local live: host memory\n"
     "(default), or this host's GPUs, in turn, each with access to\n"
     "the memory of those from which it receives",
     [](Options &o, std::string_view v) {
       return choose(v, o.memory,
                     {{"host", MemoryKind::Host}, {"cuda", MemoryKind::Cuda}});
     }},
    {"--launch", "N",
     "start N processes on this host, one a participant of the\n"
     "plan; needs --transport=tcp or nccl",
     [](Options &o, std::string_view v) {
       return readNumber(v, o.launch) && o.launch > 0;
     }},
    {"--rendezvous", "DIR",
     "an empty directory that all hosts share, for processes\n"
     "that torchrun, srun or mpirun started",
     [](Options &o, std::string_view v) { return readPath(v, o.rendezvous); }},
    {"--control", "HOST:PORT",
     "where rank 0 listens for the others, in place of the\n"
     "launcher's MASTER_ADDR and MASTER_PORT; all processes need\n"
     "the same secret in ETC_JOB_TOKEN",
     [](Options &o, std::string_view v) { return readPath(v, o.control); }},
    {"--host", "NAME",
     "this host's name or address, where it is not the one to\n"
     "listen on",
     [](Options &o, std::string_view v) { return readPath(v, o.host); }},
    {"--encrypt", "",
     "encrypt the state on its way, for --transport=tcp; the same on\n"
     "all processes (control is always encrypted)",
     [](Options &o, std::string_view) { return o.encrypt = true; }},
    {"--mode", "eager|safe",
     "eager: the previous state goes round by round (default);\n"
     "safe: it goes when all have everything",
     [](Options &o, std::string_view v) {
       return choose(v, o.mode,
                     {{"eager", etc::runtime::Mode::Eager},
                      {"safe", etc::runtime::Mode::Safe}});
     }},
    {"--journal", "DIR",
     "note in DIR what is done, so that a migration that failed\n"
     "can be resumed or rolled back",
     [](Options &o, std::string_view v) { return readPath(v, o.journal); }},
    {"--state", "DIR",
     "where the state is kept then, one file a tensor; fastest on\n"
     "/dev/shm (the journal's directory)",
     [](Options &o, std::string_view v) { return readPath(v, o.state); }},
    {"--from", "DIR",
     "start from the state that the migration with this journal\n"
     "left, in place of the formula",
     [](Options &o, std::string_view v) { return readPath(v, o.from); }},
    {"--restore-from", "DIR",
     "with --from, and inventory: what no device holds any more is\n"
     "read from the safetensors files there",
     [](Options &o, std::string_view v) { return readPath(v, o.restoreFrom); }},
    {"--in", "DIR",
     "start from the safetensors files there, in place of the\n"
     "formula: those that --out wrote, or whole tensors in\n"
     "param.safetensors, model-00001-of-00002.safetensors, ...",
     [](Options &o, std::string_view v) { return readPath(v, o.in); }},
    {"--out", "DIR",
     "write the current state there, a safetensors file a device,\n"
     "and at last inventory.json, which --in and etc-opt --prev\n"
     "read; with --in and --transport=local nothing is moved, but\n"
     "written from file to file, in little memory",
     [](Options &o, std::string_view v) { return readPath(v, o.out); }},
    {"--failed", "LIST",
     "with --from, status and inventory: devices whose state is\n"
     "gone too",
     [](Options &o, std::string_view v) { return readList(v, o.failed); }},
    {"--verify", "full|checksum|off",
     "checksum: compare every message with its sender's hash; full\n"
     "(default): check every element of the result too, bit for bit",
     [](Options &o, std::string_view v) {
       return choose(v, o.verify,
                     {{"full", etc::runtime::Verify::Full},
                      {"checksum", etc::runtime::Verify::Checksum},
                      {"off", etc::runtime::Verify::Off}});
     }},
    {"--timeout", "SECONDS",
     "the longest wait for another device, beyond what the bytes of\n"
     "a round, or of a state to fill or check, take at the floor\n"
     "rate (60)",
     [](Options &o, std::string_view v) { return readSeconds(v, o.timeout); }},
    {"--floor-rate", "MB/S", "the rate below which a link counts as dead (100)",
     [](Options &o, std::string_view v) {
       double rate = 0;
       if (!readNumber(v, rate) || !(rate >= 0.001) || rate > 1e9)
         return false;
       o.floorRate = static_cast<uint64_t>(rate * 1e6);
       return true;
     }},
    {"--silence", "SECONDS", "how long a process may give no sign of life (10)",
     [](Options &o, std::string_view v) { return readSeconds(v, o.silence); }},
    {"--progress", "auto|on|off",
     "a line on stderr that says how far it is; auto: on a\nterminal (default)",
     [](Options &o, std::string_view v) {
       return choose(v, o.progress,
                     {{"auto", ProgressMode::Auto},
                      {"on", ProgressMode::On},
                      {"off", ProgressMode::Off}});
     }},
    {"--rows", "auto|all",
     "auto: minimum, median and maximum in place of a row a\n"
     "device, above 16 devices (default)",
     [](Options &o, std::string_view v) {
       return choose(v, o.allRows, {{"auto", false}, {"all", true}});
     }},
    {"--trace", "FILE",
     "write what every device did when, for Perfetto or Chrome;\n"
     "processes that a launcher started write FILE.RANK each;\n"
     "with --dry-run and --cluster: every round and what devices\n"
     "hold in it, as predicted",
     [](Options &o, std::string_view v) { return readPath(v, o.trace); }},
    {"--report", "FILE",
     "write an HTML page with pictures of the plan and of what was\n"
     "measured, round by round; it needs no network to be read.\n"
     "Processes that a launcher started measure whole devices only",
     [](Options &o, std::string_view v) { return readPath(v, o.report); }},
    {"--dry-run", "",
     "move nothing: print the bytes and peaks that a run would\n"
     "come to, exactly",
     [](Options &o, std::string_view) { return o.dryRun = true; }},
    {"--cluster", "NAME|FILE",
     "with --dry-run and --report: what times are predicted for: a\n"
     "shipped cluster (h100, gb200, ...) or JSON; a report's are\n"
     "for the cluster of the plan without it",
     [](Options &o, std::string_view v) { return readPath(v, o.cluster); }},
    {"--ceiling", "",
     "first send the same bytes as bare messages, and say what\n"
     "share of their speed the migration reached",
     [](Options &o, std::string_view) { return o.ceiling = true; }},
    {"--json", "", "the figures as one JSON object, in place of the table",
     [](Options &o, std::string_view) { return o.json = true; }},
    {"--help", "", "this text",
     [](Options &o, std::string_view) { return o.help = true; }},
    {"--version", "", "the version, and that of the plan format",
     [](Options &o, std::string_view) { return o.version = true; }},
};

} // namespace

std::span<const Option> etc::run::allOptions() { return kOptions; }
