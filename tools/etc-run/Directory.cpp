#include "Directory.h"

#include "OutputFile.h"

#include <algorithm>
#include <filesystem>

using namespace etc::run;
using namespace etc::runtime;
using etc::plan::PlanIndex;

/// How long the others may take to note that they stopped.
constexpr Milliseconds kLastNotes{1000};

std::string etc::run::stateDirectory(const Options &options) {
  return options.state.empty() ? options.journal : options.state;
}

std::string etc::run::describeSource(const Options &options) {
  if (options.from.empty())
    return "the formula that fills it";
  const std::string left = "what the migration in " + options.from + " left";
  return options.restoreFrom.empty()
             ? left
             : left + " and the checkpoint in " + options.restoreFrom;
}

/// That no file of another migration is taken for one of this.
static Status checkEmpty(const Options &options, const PlanIndex &index,
                         const std::vector<uint32_t> &ranks) {
  for (uint32_t rank : ranks) {
    const uint32_t device = index.device(rank);
    if (std::filesystem::exists(journalPath(options.journal, device)))
      return Status(ErrorKind::Usage,
                    text(options.journal,
                         ": holds the journal of a migration; go on with "
                         "etc-run resume, back with etc-run rollback, or name "
                         "another directory"));
    const std::string state = statePath(stateDirectory(options), device);
    if (std::filesystem::exists(state))
      return Status(ErrorKind::Usage,
                    text(state, ": holds state already; name another "
                                "directory, or remove it"));
  }
  return Status::success();
}

static Status createDirectory(const std::string &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? Status(ErrorKind::Usage,
                        text(path, ": cannot make it: ", error.message()))
               : Status::success();
}

Result<LockedDirectory> etc::run::claimDirectory(const std::string &path) {
  Status created = createDirectory(path);
  return created.ok() ? LockedDirectory::open(path)
                      : Result<LockedDirectory>(created);
}

Status etc::run::makeDirectory(const Options &options,
                               const plan::PlanFile &file,
                               const PlanIndex &index,
                               const std::vector<uint32_t> &ranks) {
  if (Status s = checkEmpty(options, index, ranks); !s.ok())
    return s;
  for (const std::string &path : {options.journal, stateDirectory(options)})
    if (Status s = createDirectory(path); !s.ok())
      return s;
  const auto bytes = file.fileBytes();
  if (Status s = writeOutputFile(
          options.journal + "/plan.etcplan",
          {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
      !s.ok())
    return s;
  Options lasting = options;
  if (!options.state.empty())
    lasting.state = std::filesystem::absolute(options.state);
  if (!options.from.empty())
    lasting.from = std::filesystem::absolute(options.from);
  if (!options.restoreFrom.empty())
    lasting.restoreFrom = std::filesystem::absolute(options.restoreFrom);
  if (!options.out.empty())
    lasting.out = std::filesystem::absolute(options.out);
  return writeOutputFile(options.journal + "/options", lastingOptions(lasting));
}

Status etc::run::dropFailed(const PlanIndex &index, const Options &options,
                            Survivors &standings) {
  return leaveOut(index, options.failed, standings).at("--failed");
}

std::string etc::run::noteSurvivors(const PlanIndex &index,
                                    const Options &options) {
  if (options.journal.empty())
    return {};
  Result<Survivors> survivors =
      awaitLastNotes(index, options.journal, kLastNotes);
  auto isThere = [](const auto &standing) { return standing.has_value(); };
  if (!survivors || std::none_of(survivors->begin(), survivors->end(), isThere))
    return {};
  const std::string path = options.journal + "/inventory.json";
  Status written =
      writeInventory(index, takeInventory(index, *survivors), path);
  return written.ok()
             ? text("; etc-run status ", options.journal, " says what is left")
             : text("; ", written.message());
}
