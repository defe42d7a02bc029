//===- ShowPlan.cpp - What a plan file says -------------------------------===//

#include "ShowPlan.h"

#include "CheckOptions.h"
#include "Outputs.h"
#include "RankFiles.h"
#include "Rates.h"
#include "Slices.h"
#include "core/plan/PlanFile.h"
#include "core/plan/Referee.h"
#include "core/proof/PlanCertificates.h"
#include "etc/Export/PlanText.h"
#include "etc/Planner/Report.h"
#include "etc/Request/Hosts.h"

#include "llvm/Support/FileSystem.h"

#include <numeric>

using namespace etc;

static int malformed(const llvm::Twine &message) {
  return fail(message, request::ExitCode::Malformed);
}

static int64_t deviceCount(const plan::fb::Plan &plan) {
  return std::accumulate(plan.nodes()->begin(), plan.nodes()->end(),
                         int64_t(0));
}

/// The names of a plan's nodes, which are a request's field.
static llvm::Expected<std::vector<std::string>>
readHosts(const PlannerOptions &options, const plan::fb::Plan &plan) {
  llvm::Expected<request::Request> given =
      request::requestFromOptions(options.overrides);
  if (!given)
    return given.takeError();
  if (given->isGiven("hosts"))
    if (llvm::Error error =
            request::checkHostNames(given->hosts, plan.nodes()->size(),
                                    {given->whereOf("hosts"), "--hosts"}))
      return error;
  return std::move(given->hosts);
}

static int writePlan(const PlannerOptions &options,
                     std::vector<std::string> hosts,
                     const plan::fb::Plan &plan) {
  std::string summary;
  llvm::raw_string_ostream os(summary);
  writeSummary(plan, os);
  auto write = [&](llvm::raw_ostream &os) {
    if (options.emit == Emit::Json)
      writeJson(plan, options.listDevices(), os);
    else if (options.emit == Emit::Report)
      os << reportPage(plan, givenRates(options), summary);
    else
      os << summary;
  };
  if (!options.quiet && options.emit != Emit::Summary)
    llvm::errs() << summary;
  if (options.slice)
    return writeSlices(options, plan);
  return options.emit == Emit::Ranks
             ? writeRanks(options, std::move(hosts), plan)
             : writeOutputs(Output{options.output, write});
}

int etc::showPlan(const PlannerOptions &options) {
  if (options.describesRequest())
    return malformed(options.input +
                     ": options of a request do not apply to a plan; to plan "
                     "on from it give --prev=" +
                     options.input);
  if (options.emit == Emit::Plan && !options.slice)
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
  if (plan.slice())
    return malformed(options.input + ": is the slice of rank " +
                     llvm::Twine(plan.slice()->rank()) +
                     "; name the whole plan");
  plan::Status status = plan::checkPlan(plan);
  if (status.ok())
    status = verifyCertificates(plan::PlanIndex(plan));
  if (!status.ok())
    return malformed(options.input + ": " + status.message());
  if (int status = checkOutput(options, deviceCount(plan)))
    return status;
  llvm::Expected<std::vector<std::string>> hosts = readHosts(options, plan);
  if (!hosts)
    return request::reportError(hosts.takeError(), llvm::errs());
  return writePlan(options, std::move(*hosts), plan);
}
