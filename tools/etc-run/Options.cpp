#include "Options.h"

#include <charconv>
#include <cmath>
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
     [](Options &o, std::string_view v) {
       o.rendezvous = v;
       return !v.empty();
     }},
    {"--host", "NAME",
     "this host's name or address, where it is not the one to\n"
     "listen on",
     [](Options &o, std::string_view v) {
       o.host = v;
       return !v.empty();
     }},
    {"--verify", "full|off",
     "full: check every element of the result, bit for bit\n(default)",
     [](Options &o, std::string_view v) {
       return choose(v, o.verify, {{"full", true}, {"off", false}});
     }},
    {"--timeout", "SECONDS", "the longest wait for another device (300)",
     [](Options &o, std::string_view v) {
       double seconds = 0;
       if (!readNumber(v, seconds) || !(seconds > 0) || seconds > 1e6)
         return false;
       o.timeout = std::chrono::milliseconds(
           static_cast<int64_t>(std::ceil(seconds * 1000)));
       return true;
     }},
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
     "processes that a launcher started write FILE.RANK each",
     [](Options &o, std::string_view v) {
       o.trace = v;
       return !v.empty();
     }},
    {"--dry-run", "",
     "move nothing: print the bytes and peaks that a run would\n"
     "come to, exactly",
     [](Options &o, std::string_view) { return o.dryRun = true; }},
    {"--cluster", "FILE",
     "with --dry-run: also the time on the cluster that FILE\n"
     "describes (JSON)",
     [](Options &o, std::string_view v) {
       o.cluster = v;
       return !v.empty();
     }},
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

Status checkTogether(const Options &options) {
  if (options.help || options.version)
    return Status::success();
  if (options.plan.empty())
    return usage("no plan given; try: etc-run m.etcplan (etc-opt --emit=plan "
                 "writes one, etc-run --help says more)");
  if (options.launch > 0 && options.transport == TransportKind::Local)
    return usage("--launch needs --transport=gloo or nccl; without both, every "
                 "device is a thread of this process");
  if (options.memory == MemoryKind::Cuda &&
      options.transport == TransportKind::Gloo)
    return usage("--transport=gloo moves host memory; use --transport=nccl for "
                 "GPUs, or --transport=local for all devices on one");
  if (!options.cluster.empty() && !options.dryRun)
    return usage("--cluster is where --dry-run computes the time; add "
                 "--dry-run");
  return Status::success();
}

} // namespace

Result<Options> etc::run::parseOptions(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument.starts_with("-")) {
      if (Status s = readOption(options, argument); !s.ok())
        return s;
    } else if (options.plan.empty()) {
      options.plan = argument;
    } else {
      return usage("one plan at a time: ", options.plan, " and ", argument);
    }
  }
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

std::string etc::run::helpText() {
  std::string out =
      R"(usage: etc-run [options] PLAN

Executes a migration plan that etc-opt wrote: moves the state of a training
job from one parallel configuration to another, device to device, in host or
GPU memory. The previous state is filled by a formula, so every device checks
its own result, bit for bit, without asking another.

  etc-opt --model=gpt2 --prev=PP2TP2 --curr=PP4TP2 --emit=plan -o m.etcplan
  etc-run m.etcplan                               all devices as threads, here
  etc-run --launch=8 --transport=gloo m.etcplan   as 8 local processes
  etc-run --memory=cuda m.etcplan                 all devices on one GPU
  srun -n 8 etc-run --transport=nccl --rendezvous=/nfs/empty m.etcplan

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
missing library; 3 another device failed or timed out
)";
  return out;
}
