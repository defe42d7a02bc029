#include "Options.h"

#include "CheckOptions.h"
#include "OptionTable.h"

#include "core/plan/InputFile.h"

#include <filesystem>
#include <sstream>
#include <string_view>

using namespace etc::run;
using etc::plan::ErrorKind;
using etc::plan::Result;
using etc::plan::Status;
using etc::plan::text;

namespace {

template <typename... Parts> Status usage(const Parts &...parts) {
  return Status(ErrorKind::Usage, text(parts...));
}

Status readOption(Options &options, std::string_view argument) {
  size_t equals = argument.find('=');
  std::string_view name = argument.substr(0, equals);
  for (const Option &option : allOptions()) {
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

/// What is said of an earlier attempt that only a new one can be told.
Status checkForVerb(const Options &options, std::string_view verb,
                    std::string_view argument) {
  const std::string_view name = argument.substr(0, argument.find('='));
  if (options.verb == Verb::Run)
    return Status::success();
  if (name == "--from" || name == "--in")
    return usage(name, " is for a new migration, not for an earlier one");
  if (name == "--failed" &&
      (options.verb == Verb::Resume || options.verb == Verb::RollBack))
    return usage(verb,
                 " needs the files of all devices, so leave --failed "
                 "out; etc-run inventory ",
                 options.journal, " ", argument,
                 " lists what is left to plan from");
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
    if (Status s = checkForVerb(options, argv[1], argument); !s.ok())
      return s;
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
  case TransportKind::Tcp:
    return "tcp";
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
