// The program around a run: which kind of run it is, and what the user sees.

#include "Convert.h"
#include "Devices.h"
#include "Directory.h"
#include "DryRun.h"
#include "Exit.h"
#include "Hooks.h"
#include "Launch.h"
#include "Memory.h"
#include "Options.h"
#include "Process.h"
#include "ProgressLine.h"
#include "ReportFile.h"
#include "StateEnds.h"
#include "Table.h"
#include "TraceFile.h"
#include "Verbs.h"
#include "Version.h"

#include "core/engine/LocalRun.h"
#include "core/plan/PlanFile.h"
#include "core/plan/Referee.h"
#include "core/proof/PlanCertificates.h"
#include "state/checkpoint/StateIndex.h"
#include "state/synthetic/SyntheticState.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <thread>

using namespace etc::run;
using namespace etc::runtime;

/// Where the plan's participants run.
struct Setting {
  std::optional<RankAndCount> launched; // by torchrun, srun or mpirun
  std::vector<uint32_t>
      ranks; // of those that run on this host, as far as is known
};

static std::string describeSlice(const etc::plan::fb::Slice &slice,
                                 const Options &options) {
  return text(options.plan, ": is the slice of rank ", slice.rank());
}

/// A slice has what one rank moves; of the others it has names.
static Status checkSliceSuffices(const PlanIndex &index,
                                 const Options &options) {
  const auto *slice = index.plan().slice();
  if (!slice)
    return Status::success();
  const char *option = options.dryRun             ? "--dry-run"
                       : !options.in.empty()      ? "--in"
                       : !options.out.empty()     ? "--out"
                       : !options.journal.empty() ? "--journal"
                       : !options.report.empty()  ? "--report"
                                                  : nullptr;
  if (!option)
    return Status::success();
  return Status(ErrorKind::Usage,
                text(describeSlice(*slice, options), "; ", option,
                     " needs the whole plan, so name that"));
}

/// A slice is run by the process of its rank.
static Status checkSliceRuns(const PlanIndex &index, const Setting &setting,
                             const Options &options) {
  const auto *slice = index.plan().slice();
  if (!slice || (setting.launched && setting.launched->rank == slice->rank()))
    return Status::success();
  return Status(ErrorKind::Usage,
                text(describeSlice(*slice, options),
                     "; start a process for each rank with torchrun, srun or "
                     "mpirun, each with its slice"));
}

static Result<Setting> findSetting(const PlanIndex &index,
                                   const Options &options) {
  const uint32_t needed = index.rankCount();
  Setting setting;
  setting.ranks.resize(needed);
  std::iota(setting.ranks.begin(), setting.ranks.end(), 0);
  if (Status s = checkDevices(options); !s.ok())
    return s;
  if (options.transport == TransportKind::Local)
    return setting;
  std::string count =
      text("the plan needs ", needed, needed == 1 ? " process" : " processes",
           " (its participants), ");
  if (options.launch == needed)
    return setting;
  if (options.launch > 0)
    return Status(ErrorKind::Usage,
                  text(count, "--launch=", options.launch, " starts ",
                       options.launch, "; use --launch=", needed));
  setting.launched = findLaunchedRank();
  if (!setting.launched)
    return Status(ErrorKind::Usage,
                  text(count, "and no launcher started this one; use --launch=",
                       needed, ", or torchrun, srun or mpirun"));
  if (setting.launched->count != needed)
    return Status(ErrorKind::Usage,
                  text(count, "the launcher started ", setting.launched->count,
                       "; start ", needed));
  setting.ranks = {setting.launched->rank};
  return setting;
}

static RunResult runAsThreads(const PlanIndex &index, const Options &options,
                              RunOptions runOptions) {
  Progress progress;
  runOptions.progress = &progress;
  ProgressLine line(index, progress, options.progress);
  std::jthread drawer;
  if (line.isOn())
    drawer = std::jthread([&line](const std::stop_token &stop) {
      while (!stop.stop_requested()) {
        line.update();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
  TraceLog trace;
  runOptions.trace = options.trace.empty() ? nullptr : &trace;
  LocalOutcome outcome = runLocally(index, runOptions, [&](uint32_t rank) {
    return makeWorker(index, options, runOptions.keeping, rank);
  });
  RunResult result{outcome.status, std::move(outcome.reports), false,
                   outcome.told};
  if (outcome.status.ok() && outcome.told.ok() && !options.trace.empty())
    result.told = writeTrace(options.trace, trace);
  return result;
}

static RunResult runPlan(const PlanIndex &index, const Setting &setting,
                         const Options &options, const RunOptions &runOptions) {
  if (options.transport == TransportKind::Local)
    return runAsThreads(index, options, runOptions);
  if (setting.launched)
    return runLaunched(index, *setting.launched, options, runOptions);
  return launchProcesses(index, options, runOptions);
}

/// Whether what was printed has arrived.
static Status checkOutput() {
  errno = 0;
  return std::cout.flush()
             ? Status::success()
             : Status(ErrorKind::Usage, text("cannot write to the standard "
                                             "output: ",
                                             std::strerror(errno)));
}

static void printResult(const RunResult &result, const Options &options) {
  if (options.json) {
    std::cout << formatJson(result.reports, transportName(options.transport),
                            options.verify == Verify::Full);
    return;
  }
  std::cout << formatTable(result.reports, options.allRows)
            << formatTimes(result.reports);
  if (options.verify == Verify::Off)
    std::cout << "not verified (--verify=off)\n";
  else if (options.verify == Verify::Checksum)
    std::cout << "elements not checked (--verify=checksum)\n";
  else if (result.status.ok())
    std::cout << "verified: every element on every device, bit for bit\n";
  if (result.status.ok() && result.told.ok() && !options.out.empty())
    std::cout << "wrote the files of the devices and " << kStateIndexName
              << " to " << options.out << "\n";
}

/// What a new attempt takes up from an earlier one.
static Status loadStandings(const PlanIndex &index, const Options &options,
                            Keeping &keeping) {
  Result<Survivors> standings = readStandings(index, options.journal);
  if (!standings)
    return standings.status();
  for (const std::optional<Standing> &standing : *standings) {
    keeping.standings.push_back(standing.value_or(Standing()));
    if (keeping.standings.back().isRolledBack)
      return Status(ErrorKind::Usage,
                    text(options.journal,
                         ": was rolled back; start a new migration in another "
                         "directory"));
  }
  return Status::success();
}

static Result<RunOptions> prepareRun(const PlanIndex &index,
                                     const etc::plan::PlanFile &file,
                                     const Setting &setting,
                                     const Options &options, StateEnds &ends) {
  RunOptions run;
  run.timeout = options.timeout;
  run.fillTime = stateTime(index, options);
  run.verify = options.verify;
  run.ceiling = options.ceiling;
  run.mode = options.mode;
  run.floorRate = options.floorRate;
  run.observer = hooks().observer;
  run.wrap = hooks().wrap;
  if (!options.journal.empty())
    run.keeping = {options.journal, stateDirectory(options), {}, nullptr};
  run.keeping.source = &syntheticState(); // unless files are named
  Status status = ends.openFiles(index, options, setting.ranks, run);
  if (!status.ok())
    return status;
  if (options.verb == Verb::Resume)
    status = loadStandings(index, options, run.keeping);
  else if (!options.journal.empty())
    status = makeDirectory(options, file, index, setting.ranks);
  if (status.ok())
    status = ends.openLeft(options, run);
  return status.ok() ? Result<RunOptions>(std::move(run))
                     : Result<RunOptions>(status);
}

/// Bounds that are shown are proved.
static Status checkShown(const PlanIndex &index, const Options &options) {
  return options.dryRun || !options.report.empty()
             ? etc::verifyCertificates(index).at(options.plan)
             : Status::success();
}

static int foretell(const PlanIndex &index, const Options &options) {
  Status status = printForecast(index, options);
  if (status.ok() && !options.report.empty())
    status = writeReport(index, options, {}, "");
  return status.ok() ? 0 : fail(status);
}

static int migrate(const PlanIndex &index, const etc::plan::PlanFile &file,
                   const Options &options) {
  if (Status s = checkSliceSuffices(index, options); !s.ok())
    return fail(s);
  if (Status s = checkReportFile(options); !s.ok())
    return fail(s);
  if (Status s = checkShown(index, options); !s.ok())
    return fail(s);
  if (Status s = checkTraceFile(options.trace); !s.ok())
    return fail(s);
  if (options.dryRun)
    return foretell(index, options);
  if (options.isConversion()) {
    Status status = convert(index, options);
    return status.ok() ? 0 : fail(status);
  }
  auto setting = findSetting(index, options);
  if (!setting)
    return fail(setting.status());
  if (Status s = checkSliceRuns(index, *setting, options); !s.ok())
    return fail(s);
  if (!options.usesGpu())
    if (Status s = checkMemory(index, setting->ranks, options.mode,
                               options.verb == Verb::Resume);
        !s.ok())
      return fail(s);
  LockedDirectory lock; // to the end
  const bool isNew =
      !options.journal.empty() && !std::filesystem::exists(options.journal);
  if (!options.journal.empty() && !setting->launched) {
    auto claimed = claimDirectory(options.journal);
    if (!claimed)
      return fail(claimed.status());
    lock = std::move(*claimed);
  }
  StateEnds ends;
  auto runOptions = prepareRun(index, file, *setting, options, ends);
  if (!runOptions) {
    // A refusal leaves nothing behind; a folder with something in it stays.
    std::error_code ignored;
    if (isNew && !setting->launched)
      std::filesystem::remove(options.journal, ignored);
    return fail(runOptions.status());
  }
  Options traced = options;
  if (!setting->launched)
    traced.trace = traceForReport(options);
  RunResult result = runPlan(index, *setting, traced, *runOptions);
  const bool isFirst = !setting->launched || setting->launched->rank == 0;
  if (result.status.ok() && result.told.ok() && isFirst)
    result.told = ends.finish(index);
  // A migration that went through has figures, even if what it made is wrong.
  bool isComplete =
      result.status.ok() || result.status.kind() == ErrorKind::Verification;
  if (isComplete && !result.reports.empty()) {
    printResult(result, options);
    Status printed = checkOutput();
    if (result.told.ok())
      result.told = printed;
    Status reported = options.report.empty()
                          ? Status::success()
                          : writeReport(index, options, result,
                                        setting->launched ? "" : traced.trace);
    if (result.told.ok())
      result.told = reported;
  }
  if (result.status.ok())
    return result.told.ok()  ? 0
           : result.isSilent ? kUntold
                             : failAfterCommit(result.told);
  if (result.isSilent)
    return exitCode(result.status);
  return fail(isComplete ? result.status
                         : Status(result.status.kind(),
                                  result.status.message() +
                                      noteSurvivors(index, options)));
}

static int runVerb(const Options &options) {
  auto file = etc::plan::PlanFile::open(options.plan);
  if (!file)
    return fail(file.status());
  PlanIndex index(file->plan());
  if (Status s = etc::plan::checkPlan(index, file->lane()); !s.ok())
    return fail(s.at(options.plan));
  Status status = Status::success();
  switch (options.verb) {
  case Verb::Run:
  case Verb::Resume:
    return migrate(index, *file, options);
  case Verb::RollBack:
    status = rollBackMigration(index, options);
    break;
  case Verb::Status:
    status = printStatus(index, options);
    break;
  case Verb::Inventory:
    status = printInventory(index, options);
    break;
  }
  return status.ok() ? 0 : fail(status);
}

/// What is asked about the program itself, or done.
static int answer(const Options &options) {
  if (!options.help && !options.version)
    return runVerb(options);
  std::cout << (options.help ? helpText() : versionText());
  return 0;
}

static Hooks &storedHooks() {
  static Hooks stored;
  return stored;
}

const Hooks &etc::run::hooks() { return storedHooks(); }

int etc::run::runMain(int argc, char **argv, const Hooks &hooks) {
  storedHooks() = hooks;
  nameResourceLimits();
  auto options = parseOptions(argc, argv);
  if (!options)
    return fail(options.status());
  try {
    const int code = answer(*options);
    const Status printed = checkOutput();
    return code == 0 && !printed.ok() ? fail(printed) : code;
  } catch (const std::exception &error) {
    return fail(Status(ErrorKind::Usage, error.what()));
  }
}
