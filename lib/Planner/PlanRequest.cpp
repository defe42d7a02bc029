//===- PlanRequest.cpp - From a request to proven plans -------------------===//

#include "etc/Planner/PlanRequest.h"

#include "RunPasses.h"
#include "etc/Export/Export.h"
#include "etc/Import/Import.h"
#include "etc/Verify/Boundaries.h"

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
                      PlanPipelineOptions &options) {
  options.totalFirst = request.isTotalFirst();
  options.byTime = request.isByTime();
}

static void buildPipeline(PassManager &passes, const request::Request &request,
                          const PlanOptions &options) {
  if (request.policy != "paper") {
    PlanPipelineOptions best;
    readOptions(request, best);
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

FailureOr<PlannedRequest> etc::planRequest(MLIRContext &context,
                                           const request::Request &request,
                                           const PlanOptions &options) {
  return planFaster(context, {request},
                    [&](ArrayRef<request::Request> requests) {
                      return planAsAsked(context, requests.front(), options);
                    });
}
