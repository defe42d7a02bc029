#include "Options.h"

#include "CheckOptions.h"

#include "plan/InputFile.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string_view>

using namespace etc::run;
using etc::plan::ErrorKind;
using etc::plan::Result;
using etc::plan::Status;
using etc::plan::text;

namespace {

/// One option: how it is written, what it means, and how it is read. `read`
/// returns whether the value is allowed.
struct Option {
  std::string_view name;
  std::string_view values; // as in the help; empty for a flag
  std::string_view meaning;
  bool (*read)(Options &options, std::string_view value);
};

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
    {"--transport", "local|gloo|nccl",
     "local: every device is a thread of this process (default);\n"
     "gloo: one process a device, over TCP;\n"
     "nccl: one process a device, each on a GPU",
     [](Options &o, std::string_view v) {
       return choose(v, o.transport,
                     {{"local", TransportKind::Local},
                      {"gloo", TransportKind::Gloo},
                      {"nccl", TransportKind::Nccl}});
     }},
    {"--memory", "host|cuda",
     "where the devices of --transport=local live: host memory\n"
     "(default), or all on GPUs of this host, in turn",
     [](Options &o, std::string_view v) {
       return choose(v, o.memory,
                     {{"host", MemoryKind::Host}, {"cuda", MemoryKind::Cuda}});
     }},
    {"--launch", "N",
     "start N processes on this host, one a participant of the\n"
     "plan; needs --transport=gloo or nccl",
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
     "the longest wait for another device, beyond what a round's\n"
     "bytes take at the floor rate (60)",
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
    {"--cluster", "FILE",
     "with --dry-run and --report: what times are predicted for\n"
     "(JSON); a report's are for H100 nodes without it",
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

template <typename... Parts> Status usage(const Parts &...parts) {
  return Status(ErrorKind::Usage, text(parts...));
}

Status readOption(Options &options, std::string_view argument) {
  size_t equals = argument.find('=');
  std::string_view name = argument.substr(0, equals);
  for (const Option &option : kOptions) {
    if (option.name != name)
      continue;
    const bool hasValue = equals != std::string_view::npos;
    if (option.values.empty() && hasValue)
      return usage(name, " takes no value");
    if (!option.values.empty() && !hasValue)
      return usage(name, " needs a value: ", name, "=", option.values);
    std::string_view value = hasValue ? argument.substr(equals + 1) : "";
    return option.read(options, value)
               ? Status::success()
               : usage(argument, ": expected ", name, "=", option.values);
  }
  return usage("unknown option ", name, "; etc-run --help lists all");
}

constexpr std::pair<std::string_view, Verb> kVerbs[] = {
    {"resume", Verb::Resume},
    {"rollback", Verb::RollBack},
    {"status", Verb::Status},
    {"inventory", Verb::Inventory},
};

/// The options of an earlier attempt, and its plan.
Status readDirectory(Options &options) {
  const std::string path = options.journal + "/options";
  if (std::error_code unknown; !std::filesystem::exists(path, unknown))
    return usage(options.journal, ": no migration's journal is here (",
                 "etc-run --journal=", options.journal, " makes one)");
  Result<std::string> content = etc::plan::readInput(path, 1 << 20);
  if (!content)
    return content.status();
  std::istringstream lines(std::move(*content));
  for (std::string line; std::getline(lines, line);)
    if (Status s = readOption(options, line); !s.ok())
      return s.at(path);
  options.plan = options.journal + "/plan.etcplan";
  // These belong to the migration that it started from.
  if (options.verb != Verb::Resume)
    options.failed.clear();
  return Status::success();
}

} // namespace

Result<Options> etc::run::parseOptions(int argc, char **argv) {
  Options options;
  etc::runtime::Mode begun = options.mode;
  int next = 1;
  for (const auto &[name, verb] : kVerbs)
    if (argc > 1 && name == argv[1]) {
      if (argc == 2 || argv[2][0] == '-')
        return usage(name, " needs the directory of the journal: etc-run ",
                     name, " DIR");
      options.verb = verb;
      options.journal = argv[2];
      next = 3;
      if (Status s = readDirectory(options); !s.ok())
        return s;
      begun = options.mode;
    }
  for (int i = next; i < argc; ++i) {
    std::string_view argument = argv[i];
    for (std::string_view origin : {"--from", "--in"})
      if (options.verb != Verb::Run &&
          argument.substr(0, argument.find('=')) == origin)
        return usage(origin, " is for a new migration, not for an earlier one");
    if (argument.starts_with("-")) {
      if (Status s = readOption(options, argument); !s.ok())
        return s;
    } else if (options.verb != Verb::Run) {
      return usage("one directory at a time: ", options.journal, " and ",
                   argument);
    } else if (options.plan.empty()) {
      options.plan = argument;
    } else {
      return usage("one plan at a time: ", options.plan, " and ", argument);
    }
  }
  if (options.verb != Verb::Run && options.mode != begun)
    return usage(options.journal, ": was begun with --mode=", modeName(begun),
                 "; leave --mode out");
  if (Status s = checkTogether(options); !s.ok())
    return s;
  return options;
}

const char *etc::run::transportName(TransportKind transport) {
  switch (transport) {
  case TransportKind::Local:
    return "local";
  case TransportKind::Gloo:
    return "gloo";
  case TransportKind::Nccl:
    return "nccl";
  }
  return "";
}

std::string etc::run::lastingOptions(const Options &options) {
  std::string out =
      text("--transport=", transportName(options.transport), "\n");
  if (options.launch > 0)
    out += text("--launch=", options.launch, "\n");
  out += text("--mode=", modeName(options.mode), "\n");
  if (!options.state.empty())
    out += "--state=" + options.state + "\n";
  if (!options.from.empty())
    out += "--from=" + options.from + "\n";
  if (!options.restoreFrom.empty())
    out += "--restore-from=" + options.restoreFrom + "\n";
  if (!options.out.empty())
    out += "--out=" + options.out + "\n";
  for (size_t i = 0; i != options.failed.size(); ++i)
    out += text(i == 0 ? "--failed=" : ",", options.failed[i],
                i + 1 == options.failed.size() ? "\n" : "");
  return out;
}

std::string etc::run::helpText() {
  std::string out =
      R"(usage: etc-run [options] PLAN
       etc-run resume|rollback|status|inventory DIR [options]

Executes a migration plan that etc-opt wrote: moves the state of a training
job from one parallel configuration to another, device to device, in host or
GPU memory. The previous state is filled by a formula, so every device checks
its own result, bit for bit, without asking another.

  etc-opt --model=gpt2 --prev=PP2TP2 --curr=PP4TP2 --emit=plan -o m.etcplan
  etc-run m.etcplan                               all devices as threads, here
  etc-run --launch=8 --transport=gloo m.etcplan   as 8 local processes
  etc-run --memory=cuda m.etcplan                 all devices on one GPU
  etc-run --report=report.html m.etcplan          with a page to look at
  etc-run --in=old --out=new m.etcplan            a checkpoint, file to file
  srun -n 8 etc-run --transport=nccl --rendezvous=/nfs/empty m.etcplan

With --journal=DIR, a migration that failed is not lost:

  etc-run status DIR        what is left, whether it is right, what can be done
  etc-run resume DIR        goes on to the new configuration
  etc-run rollback DIR      goes back to the old one
  etc-run inventory DIR     writes who holds what, for etc-opt --prev=FILE.json

options:
)";
  constexpr size_t column = 27;
  for (const Option &option : kOptions) {
    std::string left = "  " + std::string(option.name);
    if (!option.values.empty())
      left += "=" + std::string(option.values);
    left.resize(std::max(left.size() + 1, column), ' ');
    out += left;
    for (char c : option.meaning) {
      out += c;
      if (c == '\n')
        out += std::string(column, ' ');
    }
    out += '\n';
  }
  out += R"(
The table gives, by device and in all, bytes sent and received, the time of
the rounds, GB/s (the busier direction over the time; in all: bytes moved
over the time), and the peak of live bytes over max(previous, current), as
measured and as the plan proves it.

exit status: 0 migrated and verified; 1 verification failed; 2 usage, a
malformed plan, the wrong number of processes, too little memory or a
missing library; 3 another device failed or timed out, or this one could
not go on; --journal has what is left; 4 migrated, but the figures, the
report, the trace or the files of --out could not be written
)";
  return out;
}
