// etc-run: executes a migration plan.

#include "Devices.h"
#include "DryRun.h"
#include "Launch.h"
#include "Memory.h"
#include "Options.h"
#include "Process.h"
#include "ProgressLine.h"
#include "Table.h"
#include "TraceFile.h"

#include "engine/LocalRun.h"
#include "plan/PlanFile.h"
#include "plan/Referee.h"

#include <iostream>
#include <numeric>
#include <thread>

using namespace etc::run;
using namespace etc::runtime;

static int exitCode(const Status &status) {
  switch (status.kind()) {
  case ErrorKind::None:
    return 0;
  case ErrorKind::Verification:
    return 1;
  case ErrorKind::Usage:
  case ErrorKind::Malformed:
    return 2;
  case ErrorKind::Peer:
    return 3;
  }
  return 3;
}

static int fail(const Status &status) {
  std::cerr << "etc-run: " << status.message() << "\n";
  return exitCode(status);
}

/// Where the plan's participants run.
struct Setting {
  std::optional<Member> launched; // by torchrun, srun or mpirun
  std::vector<uint32_t>
      ranks; // of those that run on this host, as far as is known
};

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
  setting.launched = findLaunchedMember();
  if (!setting.launched)
    return Status(ErrorKind::Usage,
                  text(count, "and no launcher started this one; use --launch=",
                       needed, ", or torchrun, srun or mpirun"));
  if (setting.launched->count != needed)
    return Status(ErrorKind::Usage,
                  text(count, "the launcher started ", setting.launched->count,
                       "; start ", needed));
  if (options.rendezvous.empty())
    return Status(ErrorKind::Usage,
                  "processes that a launcher started need --rendezvous=DIR, an "
                  "empty directory that all of them see");
  setting.ranks = {setting.launched->rank};
  return setting;
}

static RunResult runAsThreads(const PlanIndex &index, const Options &options) {
  Progress progress;
  ProgressLine line(index, progress, options.progress);
  std::jthread drawer;
  if (line.isOn())
    drawer = std::jthread([&line](std::stop_token stop) {
      while (!stop.stop_requested()) {
        line.update();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
  TraceLog trace;
  LocalOutcome outcome =
      runLocally(index,
                 {options.timeout, options.verify, options.ceiling, &progress,
                  options.trace.empty() ? nullptr : &trace},
                 [&](uint32_t rank) { return makeWorker(options, rank); });
  if (outcome.status.ok() && !options.trace.empty())
    outcome.status = writeTrace(options.trace, trace);
  return {outcome.status, std::move(outcome.reports)};
}

static RunResult runPlan(const PlanIndex &index, const Setting &setting,
                         const Options &options) {
  if (options.transport == TransportKind::Local)
    return runAsThreads(index, options);
  if (setting.launched)
    return runLaunched(index, *setting.launched, options);
  return launchProcesses(index, options);
}

static void printResult(const RunResult &result, const Options &options) {
  if (options.json) {
    std::cout << formatJson(result.reports, transportName(options.transport),
                            options.verify);
    return;
  }
  std::cout << formatTable(result.reports, options.allRows)
            << formatTimes(result.reports);
  if (!options.verify)
    std::cout << "not verified (--verify=off)\n";
  else if (result.status.ok())
    std::cout << "verified: every element on every device, bit for bit\n";
}

static int runMain(const Options &options) {
  auto file = etc::plan::PlanFile::open(options.plan);
  if (!file)
    return fail(file.status());
  PlanIndex index(file->plan());
  if (Status s = etc::plan::checkPlan(index); !s.ok())
    return fail(s.at(options.plan));
  if (options.dryRun) {
    Status forecast = printForecast(index, options);
    return forecast.ok() ? 0 : fail(forecast);
  }
  auto setting = findSetting(index, options);
  if (!setting)
    return fail(setting.status());
  if (!options.usesGpu())
    if (Status s = checkMemory(index, setting->ranks); !s.ok())
      return fail(s);
  RunResult result = runPlan(index, *setting, options);
  // A migration that went through has figures, even if what it made is wrong.
  bool isComplete =
      result.status.ok() || result.status.kind() == ErrorKind::Verification;
  if (isComplete && !result.reports.empty())
    printResult(result, options);
  return result.status.ok() ? 0 : fail(result.status);
}

int main(int argc, char **argv) {
  auto options = parseOptions(argc, argv);
  if (!options)
    return fail(options.status());
  if (options->help) {
    std::cout << helpText();
    return 0;
  }
  if (options->version) {
    std::cout << "etc-run " ETC_VERSION " (plan format "
              << etc::plan::kPlanVersion << ")\n";
    return 0;
  }
  try {
    return runMain(*options);
  } catch (const std::exception &error) {
    return fail(Status(ErrorKind::Usage, error.what()));
  }
}
