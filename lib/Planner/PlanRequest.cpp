//===- PlanRequest.cpp - From a request to proven plans -------------------===//

#include "etc/Planner/PlanRequest.h"

#include "RunPasses.h"
#include "etc/Export/Export.h"
#include "etc/Import/Import.h"
#include "etc/Planner/Lanes.h"
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

void etc::readOptions(const request::Request &request,
                      const PlanOptions &options,
                      PlanPipelineOptions &pipeline) {
  pipeline.totalFirst = request.isTotalFirst();
  pipeline.byTime = request.isByTime();
  pipeline.fasterThan = options.fasterThan;
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
  return planFaster(
      context, {request}, options,
      [&](ArrayRef<request::Request> requests, const PlanOptions &options) {
        return planAsAsked(context, requests.front(), options);
      });
}

/// A lane's own diagnostics would name devices and sizes that nobody asked for.
static FailureOr<PlannedRequest> planLane(MLIRContext &context,
                                          const request::Request &lane,
                                          const PlanOptions &options) {
  ScopedDiagnosticHandler handler(&context,
                                  [](Diagnostic &) { return success(); });
  return planAlone(context, lane, options);
}

/// Import compares a side of a plan file with the request.
static LogicalResult checkPlanned(MLIRContext &context,
                                  const request::Request &request) {
  return success(!request.prev.planned || importRequest(context, request));
}

FailureOr<PlannedRequest> etc::planRequest(MLIRContext &context,
                                           const request::Request &request,
                                           const PlanOptions &options) {
  const std::optional<request::Request> lane =
      laneOf(request, options.lanesFrom);
  if (!lane)
    return planAlone(context, request, options);
  if (failed(checkPlanned(context, request)))
    return failure();
  FailureOr<PlannedRequest> planned = planLane(context, *lane, options);
  if (failed(planned))
    return planAlone(context, request, options);
  if (failed(stateLanes(*planned, *lane, request)))
    return failure();
  if (!options.keepsLanes)
    unfoldLanes(*planned);
  return planned;
}
