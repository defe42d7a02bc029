//===- PlanRequest.cpp - From a request to proven plans -------------------===//

#include "etc/Planner/PlanRequest.h"

#include "RunPasses.h"
#include "etc/Export/Export.h"
#include "etc/Import/Import.h"
#include "etc/Planner/Lanes.h"
#include "etc/Planner/Sections.h"
#include "etc/Verify/Boundaries.h"

#include "mlir/IR/Diagnostics.h"

using namespace etc;
using namespace mlir;

LogicalResult etc::runPasses(ModuleOp module, const PlanOptions &options,
                             llvm::function_ref<void(PassManager &)> build) {
  PassManager passes(module.getContext());
  if (options.instrument && failed(options.instrument(passes)))
    return failure();
  build(passes);
  return passes.run(module);
}

/// What least time has to save, in seconds, in large migrations of requests
/// that do not ask for it: planning may go on while the job trains, but not for
/// ever.
static constexpr double leastGain = 0.25;

void etc::readOptions(const request::Request &request,
                      const PlanOptions &options,
                      PlanPipelineOptions &pipeline) {
  pipeline.totalFirst = request.isTotalFirst();
  pipeline.byTime = request.isByTime();
  if (options.within)
    pipeline.within = stringifyPlace(*options.within).str();
  pipeline.listsNarrower = triesNarrower(request, options);
  pipeline.shareNodes = options.shareNodes.value_or(true);
  pipeline.reachNics = options.reachNics.value_or(false);
  pipeline.leastGain = request.isGiven("objective") ? 0 : leastGain;
  pipeline.fasterThan = options.fasterThan;
  pipeline.mostPeak = options.mostPeak;
  pipeline.findsTolls = options.findsTolls;
}

static void buildPipeline(PassManager &passes, const request::Request &request,
                          const PlanOptions &options) {
  if (request.policy != "paper") {
    PlanPipelineOptions best;
    readOptions(request, options, best);
    return buildPlanPipeline(passes, best);
  }
  PaperPipelineOptions paper;
  paper.twoStage = options.twoStage;
  paper.costs =
      request.paperCosts == "units" ? CostUnit::Units : CostUnit::Merged;
  buildPaperPipeline(passes, paper);
}

LogicalResult etc::exportPlans(PlannedRequest &planned) {
  for (MigrationOp migration : planned.module->getOps<MigrationOp>()) {
    FailureOr<std::vector<uint8_t>> bytes = exportPlan(migration);
    if (failed(bytes) ||
        failed(verifyPlanFile(migration, *plan::fb::GetPlan(bytes->data()))))
      return failure();
    planned.plans.push_back(std::move(*bytes));
  }
  return success();
}

/// What V1 to V11 take for granted: the first migration is the one that was
/// asked for, and the second goes on where it ends.
static LogicalResult checkEnds(ArrayRef<MigrationOp> migrations,
                               const request::Request &request) {
  if (failed(verifyRequest(migrations.front(), request)))
    return failure();
  for (auto [first, second] : llvm::zip(migrations, migrations.drop_front()))
    if (failed(verifyNextStage(first, second)))
      return failure();
  return success();
}

static FailureOr<PlannedRequest> planAsAsked(MLIRContext &context,
                                             const request::Request &request,
                                             const PlanOptions &options) {
  PlannedRequest result{importRequest(context, request), {}};
  if (!result.module)
    return failure();
  if (failed(runPasses(*result.module, options, [&](PassManager &passes) {
        buildPipeline(passes, request, options);
      })))
    return failure();
  if (failed(checkEnds(llvm::to_vector(result.module->getOps<MigrationOp>()),
                       request)) ||
      failed(exportPlans(result)))
    return failure();
  return result;
}

static FailureOr<PlannedRequest> planAlone(MLIRContext &context,
                                           const request::Request &request,
                                           const PlanOptions &options) {
  const auto fastest = [&](const PlanOptions &options) {
    return planFaster(
        context, {request}, options,
        [&](ArrayRef<request::Request> requests, const PlanOptions &options) {
          return planAsAsked(context, requests.front(), options);
        });
  };
  const auto forNics = [&](const PlanOptions &options) {
    return planForNics(context, request, options, fastest);
  };
  return planAmongPlaces(
      context, request, options, [&](const PlanOptions &options) {
        return planToShare(context, request, options, forNics);
      });
}

using PartFn = llvm::function_ref<FailureOr<PlannedRequest>(
    MLIRContext &, const request::Request &, const PlanOptions &)>;

/// The diagnostics of a part's request would name devices and sizes that nobody
/// asked for.
static FailureOr<PlannedRequest> planPart(MLIRContext &context,
                                          const request::Request &part,
                                          const PlanOptions &options,
                                          PartFn plan) {
  ScopedDiagnosticHandler handler(&context,
                                  [](Diagnostic &) { return success(); });
  PlanOptions ofPart = options;
  ofPart.findsTolls = false;
  return plan(context, part, ofPart);
}

/// Import compares a side of a plan file with the request.
static LogicalResult checkPlanned(MLIRContext &context,
                                  const request::Request &request) {
  return success(!request.prev.planned || importRequest(context, request));
}

/// By one lane where lanes are alike.
static FailureOr<PlannedRequest> planLanes(MLIRContext &context,
                                           const request::Request &request,
                                           const PlanOptions &options) {
  const std::optional<request::Request> lane =
      laneOf(request, options.lanesFrom);
  if (!lane)
    return planAlone(context, request, options);
  if (failed(checkPlanned(context, request)))
    return failure();
  FailureOr<PlannedRequest> planned =
      planPart(context, *lane, options, planAlone);
  if (failed(planned))
    return planAlone(context, request, options);
  if (failed(stateLanes(*planned, *lane, request)))
    return failure();
  return planned;
}

/// By one section of each kind where some are alike; else of all.
static FailureOr<PlannedRequest> planSections(MLIRContext &context,
                                              const request::Request &request,
                                              const PlanOptions &options) {
  const std::optional<Sections> sections =
      sectionsOf(request, options.lanesFrom);
  if (!sections)
    return planLanes(context, request, options);
  if (failed(checkPlanned(context, request)))
    return failure();
  FailureOr<PlannedRequest> planned =
      planPart(context, sections->request, options, planLanes);
  if (failed(planned))
    return planLanes(context, request, options);
  const FailureOr<bool> isOne = stateSections(*planned, *sections, request);
  if (failed(isOne))
    return failure();
  return *isOne ? std::move(planned) : planLanes(context, request, options);
}

FailureOr<PlannedRequest> etc::planRequest(MLIRContext &context,
                                           const request::Request &request,
                                           const PlanOptions &options) {
  FailureOr<PlannedRequest> planned = planSections(context, request, options);
  if (succeeded(planned) && !options.keepsLanes)
    unfoldLanes(*planned);
  return planned;
}
