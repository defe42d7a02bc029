//===- ShowPlan.cpp - What a plan file says -------------------------------===//

#include "ShowPlan.h"

#include "CheckOptions.h"
#include "Outputs.h"
#include "RankFiles.h"
#include "Rates.h"
#include "etc/Export/PlanText.h"
#include "etc/Planner/Report.h"
#include "plan/PlanFile.h"
#include "plan/Referee.h"

#include "llvm/Support/FileSystem.h"

#include <numeric>

using namespace etc;

static int malformed(const llvm::Twine &message) {
  return fail(message, request::ExitCode::Malformed);
}

static Extent extentOf(const plan::fb::Plan &plan) {
  return {
      std::accumulate(plan.nodes()->begin(), plan.nodes()->end(), int64_t(0)),
      plan.nodes()->size()};
}

static int writePlan(const PlannerOptions &options,
                     const plan::fb::Plan &plan) {
  std::string summary;
  llvm::raw_string_ostream os(summary);
  writeSummary(plan, os);
  auto write = [&](llvm::raw_ostream &os) {
    if (options.emit == Emit::Json)
      writeJson(plan, options.devices, os);
    else if (options.emit == Emit::Report)
      os << reportPage(plan, givenRates(options), summary);
    else
      os << summary;
  };
  if (!options.quiet && options.emit != Emit::Summary)
    llvm::errs() << summary;
  return options.emit == Emit::Ranks
             ? writeRanks(options, plan)
             : writeOutputs(Output{options.output, write});
}

int etc::showPlan(const PlannerOptions &options) {
  if (options.describesRequest())
    return malformed(options.input +
                     ": options of a request do not apply to a plan; to plan "
                     "on from it give --prev=" +
                     options.input);
  if (options.emit == Emit::Plan)
    return malformed(options.input + ": is a plan file already");
  if (options.emit == Emit::Mlir)
    return malformed(options.input + ": a plan file has no IR any more; give "
                                     "the request that it was made from");
  if (llvm::sys::fs::equivalent(options.input, options.output))
    return malformed(options.output + ": is the plan itself; name another file "
                                      "with -o");
  plan::Result<plan::PlanFile> file = plan::PlanFile::open(options.input);
  if (!file.ok())
    return malformed(file.status().message());
  const plan::fb::Plan &plan = file->plan();
  if (plan::Status status = plan::checkPlan(plan); !status.ok())
    return malformed(options.input + ": " + status.message());
  if (int status = checkOutput(options, extentOf(plan)))
    return status;
  return writePlan(options, plan);
}
