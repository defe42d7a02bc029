//===- CheckOptions.cpp - Which options go together -----------------------===//

#include "CheckOptions.h"

#include "Outputs.h"
#include "Rates.h"

#include "llvm/Support/Process.h"

using namespace etc;
using llvm::Twine;
using request::ExitCode;

/// JSON lists every device; above this many it has to be asked for.
static constexpr int64_t jsonDeviceLimit = 1024;

static int malformed(const Twine &message) {
  return fail(message, ExitCode::Malformed);
}

static int checkPolicy(const PlannerOptions &options,
                       const request::Request &request) {
  if (request.policy != "paper") {
    if (options.twoStage)
      return malformed("--two-stage is of the paper's method; add "
                       "--policy=paper");
    return 0;
  }
  if (options.overrides.has("place"))
    return malformed("--place: the paper's policy has a placement of its own; "
                     "leave one of the two out");
  if (options.overrides.has("objective"))
    return malformed("--objective: the paper's policy has an objective of its "
                     "own; leave one of the two out");
  return 0;
}

static int checkTwoStage(const PlannerOptions &options,
                         const request::Request &) {
  bool writesPlans = options.emit == Emit::Plan || options.emit == Emit::Json ||
                     options.emit == Emit::Report;
  if (writesPlans && options.twoStage && options.output == "-")
    return malformed("--two-stage writes two plans; name a file with -o");
  if (writesPlans && !options.coalesce && options.output == "-")
    return malformed("--coalesce=false writes a plan for each request; name a "
                     "file with -o");
  return 0;
}

int etc::checkChain(const PlannerOptions &options) {
  if (options.following.empty()) {
    if (!options.coalesce || options.journal)
      return malformed(Twine(options.journal ? "--journal" : "--coalesce") +
                       " is of several requests that follow each other; name "
                       "their files");
    return 0;
  }
  if (options.frontier || options.whichNodes)
    return malformed(Twine(options.frontier ? "--frontier" : "--which-nodes") +
                     " takes one request; plan the chain, and ask with --prev="
                     "PLAN");
  for (const char *side : {"prev", "curr"})
    if (options.overrides.has(side))
      return malformed("--" + Twine(side) +
                       ": each of several requests has its own; leave it out");
  return 0;
}

int etc::checkOutput(const PlannerOptions &options, int64_t clusterDevices) {
  if (options.emit == Emit::Plan && options.output == "-" &&
      llvm::sys::Process::StandardOutIsDisplayed())
    return malformed("a plan is binary; name a file with -o");
  if (options.emit == Emit::Report && options.output == "-" &&
      llvm::sys::Process::StandardOutIsDisplayed())
    return malformed("a report is a page for a browser; name a file with -o, "
                     "like -o report.html");
  if (options.emit == Emit::Json && !options.devices &&
      clusterDevices > jsonDeviceLimit)
    return malformed(
        "--emit=json of more than 1024 devices needs --devices=LIST");
  if (options.slice && options.emit != Emit::Plan)
    return malformed("--slice needs --emit=plan");
  if (options.slice && (options.twoStage || !options.coalesce))
    return malformed("--slice is of one plan; give it the plan file that is to "
                     "be sliced");
  if (options.slice == "all" && options.output == "-")
    return malformed("--slice=all writes a file for each rank; name it with "
                     "-o");
  if (options.overrides.has("hosts") && options.emit != Emit::Ranks)
    return malformed("--hosts needs --emit=ranks");
  if (options.devices && options.emit != Emit::Json)
    return malformed("--devices needs --emit=json");
  if (options.devices)
    for (const request::DeviceRange &range : *options.devices)
      if (range.last >= clusterDevices)
        return malformed(
            "--devices: " + Twine(std::max(range.first, clusterDevices)) +
            " is not one of the cluster's " + Twine(clusterDevices) +
            " devices");
  bool asks = options.frontier || options.whichNodes;
  if (options.rates && !asks && options.emit != Emit::Report)
    return malformed("--rates needs --emit=report, --frontier or "
                     "--which-nodes");
  if (!asks && !Rates::parse(options.rates))
    return failRates(*options.rates);
  return 0;
}

/// --frontier and --which-nodes compare many plans.
static int checkQuestion(const PlannerOptions &options,
                         const request::Request &request) {
  if (!options.frontier && !options.whichNodes)
    return 0;
  const char *name = options.frontier ? "--frontier" : "--which-nodes";
  if (options.frontier && options.whichNodes)
    return malformed("--frontier and --which-nodes are two questions; ask one "
                     "at a time");
  if (options.emit != Emit::Mlir)
    return malformed(Twine(name) +
                     " writes an answer of its own; leave --emit out");
  if (request.policy == "paper")
    return malformed(Twine(name) + " compares plans of --policy=best; leave "
                                   "--policy=paper out");
  if (request.curr.devices)
    return malformed(Twine(name) +
                     " chooses devices; leave the devices of curr out");
  if (options.frontier &&
      (options.overrides.has("place") || options.overrides.has("objective")))
    return malformed("--frontier tries every placement and objective; leave "
                     "--place and --objective out");
  if (options.whichNodes && *options.whichNodes < 1)
    return malformed("--which-nodes: expected a positive integer, got " +
                     Twine(*options.whichNodes));
  return 0;
}

int etc::checkOptions(const PlannerOptions &options,
                      const request::Request &request) {
  for (auto *check : {checkPolicy, checkTwoStage, checkQuestion})
    if (int status = check(options, request))
      return status;
  return checkOutput(options, request.deviceCount());
}
