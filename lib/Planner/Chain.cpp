//===- Chain.cpp - Requests that follow each other ------------------------===//

#include "etc/Planner/Chain.h"

#include "RunPasses.h"
#include "dialect/ModelName.h"
#include "etc/Import/Import.h"
#include "etc/Verify/Boundaries.h"
#include "state/inventory/Begun.h"

#include <limits>
#include <tuple>

using namespace etc;
using namespace mlir;
using llvm::Error;
using request::malformed;
using request::Request;

//===----------------------------------------------------------------------===//
// Whether requests go together
//===----------------------------------------------------------------------===//

static Error refuse(const Request &request, StringRef field,
                    const Twine &text) {
  return malformed({request.whereOf(field), field.str()}, text);
}

/// A request begins with the configuration of the one before, on the devices
/// that it is about to be placed on.
static Error linkTo(const Request &before, Request &request) {
  const request::SideSpec &end = before.curr;
  if (end.inventory)
    return malformed({end.where, "curr"},
                     "an inventory cannot stand inside a chain; end the chain "
                     "with it, or name a configuration");
  request::SideSpec &prev = request.prev;
  if (prev.given && (prev.inventory || prev.planned || prev.devices ||
                     !(prev.parallel == end.parallel)))
    return malformed({prev.where, "prev"},
                     "expected " + end.str() +
                         ", in which the request before ends, without devices; "
                         "leave prev out");
  prev = end;
  prev.devices.reset();
  return Error::success();
}

static bool haveSameRates(const request::ClusterRates &a,
                          const request::ClusterRates &b) {
  auto all = [](const request::ClusterRates &it) {
    return std::tuple(it.linkRate, it.linkLatency, it.nics, it.nicRate,
                      it.nicLatency, it.packRate, it.acks);
  };
  return all(a) == all(b);
}

/// A request that names no rates has those of the request before, which names
/// them itself or has them from one before.
static Error linkRates(const Request &before, Request &request) {
  if (request.rates.assumed)
    request.rates = before.rates;
  if (before.rates.assumed || haveSameRates(before.rates, request.rates))
    return Error::success();
  return refuse(request, "cluster",
                "expected the rates of a request before, \"" +
                    before.rates.name + "\", got \"" + request.rates.name +
                    "\"; name the same here, or none");
}

/// What the requests of a chain have in common.
static Error checkTogether(const Request &before, const Request &request) {
  if (!isSameModel(before.model, request.model))
    return malformed({request.model.where, "model"},
                     "expected the model of the request before");
  if (before.nodes != request.nodes)
    return refuse(request, "cluster",
                  "expected the cluster of the request before");
  if (before.types != request.types)
    return refuse(request, "types", "expected the types of the request before");
  for (int64_t device : before.failed)
    if (!llvm::is_contained(request.failed, device))
      return refuse(request, "failed",
                    "device " + Twine(device) +
                        " has failed in the request before; list it here, too");
  return Error::success();
}

Error etc::linkChain(Chain &chain) {
  for (size_t number = 0; number < chain.size(); ++number) {
    Request &request = chain[number];
    if (number)
      if (Error error = linkTo(chain[number - 1], request))
        return error;
    if (Error error = request::checkRequest(request))
      return error;
    if (chain.size() > 1 && request.policy != "best")
      return refuse(request, "policy",
                    "a chain is planned by \"best\"; leave the policy out");
    if (number)
      if (Error error = checkTogether(chain[number - 1], request))
        return error;
    if (number)
      if (Error error = linkRates(chain[number - 1], request))
        return error;
  }
  for (Request &request : chain)
    if (request.rates.assumed)
      request.rates = chain.back().rates;
  return Error::success();
}

Error etc::checkNotBegun(const std::string &directory,
                         const request::Field &field) {
  plan::Result<bool> begun = runtime::hasBegun(directory);
  if (!begun)
    return malformed(field, begun.status().message());
  if (!*begun)
    return Error::success();
  return request::unsatisfiable(
      field, directory +
                 ": the migration has begun; go back with etc-run "
                 "rollback, or plan from what devices hold now: "
                 "etc-run inventory " +
                 directory + " writes it, for prev");
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

static MigrationOp firstOf(PlannedRequest &planned) {
  return *planned.module->getOps<MigrationOp>().begin();
}

/// Appends what a request became, under a symbol of its own.
static void append(PlannedRequest &chain, PlannedRequest link, size_t number) {
  MigrationOp migration = firstOf(link);
  setSymbolOfModel(migration, migration.getSymName() + "." + Twine(number));
  if (!chain.module) {
    chain = std::move(link);
    return;
  }
  migration->remove();
  chain.module->push_back(migration);
  llvm::append_range(chain.plans, std::move(link.plans));
}

/// A request as far as its demands: what it places is what the next one begins
/// with.
static FailureOr<PlannedRequest> findDemands(MLIRContext &context,
                                             const Request &request,
                                             const PlanOptions &options) {
  PlannedRequest result{importRequest(context, request), {}};
  PlanPipelineOptions pipeline;
  readOptions(request, options, pipeline);
  if (!result.module ||
      failed(runPasses(*result.module, options, [&](PassManager &passes) {
        buildDemandsPipeline(passes.nest<MigrationOp>(), pipeline);
      })))
    return failure();
  return result;
}

/// The whole chain as one request, whose devices are those that it ends on.
static Request composeRequest(ArrayRef<Request> chain,
                              ArrayRef<int64_t> devices) {
  Request whole = chain.back();
  whole.prev = chain.front().prev;
  whole.curr.devices = devices.vec();
  return whole;
}

static LogicalResult coalesce(PlannedRequest &links, ArrayRef<Request> chain,
                              ArrayRef<int64_t> devices,
                              const PlanOptions &options) {
  const Request whole = composeRequest(chain, devices);
  if (Error error = request::checkRequest(whole))
    return emitError(UnknownLoc::get(links.module->getContext()))
           << llvm::toString(std::move(error));
  PlannedRequest imported{importRequest(*links.module->getContext(), whole),
                          {}};
  if (!imported.module)
    return failure();
  MigrationOp migration = firstOf(imported);
  // The pass takes them from the chain.
  migration.removeCurrDevicesAttr();
  migration->remove();
  links.module->push_back(migration);
  PlanPipelineOptions pipeline;
  readOptions(whole, options, pipeline);
  if (failed(runPasses(*links.module, options, [&](PassManager &passes) {
        passes.addPass(createCoalescePass());
        buildInstructionsPipeline(passes.nest<MigrationOp>(), pipeline);
      })))
    return failure();
  return success(succeeded(verifyRequest(firstOf(links), whole)) &&
                 succeeded(exportPlans(links)));
}

static FailureOr<PlannedRequest> planLinks(MLIRContext &context,
                                           ArrayRef<Request> chain,
                                           const PlanOptions &options) {
  PlannedRequest result;
  SmallVector<int64_t> devices;
  // What a link places is read from its IR, which has to be of all lanes.
  PlanOptions whole = options;
  whole.lanesFrom = std::numeric_limits<int64_t>::max();
  // A chain ends on the same devices, whether it becomes one plan or several.
  whole.narrower = {};
  whole.shareNodes = true;
  whole.reachNics = false;
  for (auto [number, asked] : llvm::enumerate(chain)) {
    Request request = asked;
    if (number)
      request.prev.devices.emplace(devices.begin(), devices.end());
    FailureOr<PlannedRequest> link =
        options.coalesce ? findDemands(context, request, options)
                         : planRequest(context, request, whole);
    if (failed(link))
      return failure();
    devices = SmallVector<int64_t>(
        firstOf(*link).getOnly<PlacementOp>().getDevices());
    append(result, std::move(*link), number + 1);
  }
  if (options.coalesce && failed(coalesce(result, chain, devices, options)))
    return failure();
  return result;
}

FailureOr<PlannedRequest> etc::planChain(MLIRContext &context,
                                         const Chain &chain,
                                         const PlanOptions &options) {
  if (chain.size() == 1)
    return planRequest(context, chain.front(), options);
  if (!options.coalesce)
    return planLinks(context, chain, options);
  return planFaster(
      context, chain, options,
      [&](ArrayRef<Request> requests, const PlanOptions &options) {
        return planLinks(context, requests, options);
      });
}
