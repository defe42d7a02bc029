//===- PlanRequest.cpp - From a request to proven plans -------------------===//

#include "etc/Planner/PlanRequest.h"

#include "etc/Export/Export.h"
#include "etc/Import/Import.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Verifier.h"

using namespace etc;
using namespace mlir;

static LogicalResult planModule(ModuleOp module,
                                const request::Request &request,
                                const PlanOptions &options) {
  PassManager passes(module.getContext());
  // Our own passes are tested with the verifier on; plans of many devices are
  // large, and checked once.
  passes.enableVerifier(false);
  if (options.instrument && failed(options.instrument(passes)))
    return failure();
  if (request.policy == "paper") {
    PaperPipelineOptions paper;
    paper.twoStage = options.twoStage;
    paper.costs =
        request.paperCosts == "units" ? CostUnit::Units : CostUnit::Merged;
    buildPaperPipeline(passes, paper);
  } else {
    PlanPipelineOptions best;
    best.totalFirst = request.isTotalFirst();
    best.byTime = request.isByTime();
    buildPlanPipeline(passes, best);
  }
  return success(succeeded(passes.run(module)) && succeeded(verify(module)));
}

FailureOr<PlannedRequest> etc::planRequest(MLIRContext &context,
                                           const request::Request &request,
                                           const PlanOptions &options) {
  PlannedRequest result{importRequest(context, request), {}};
  if (!result.module)
    return failure();
  if (failed(planModule(*result.module, request, options)))
    return failure();
  for (MigrationOp migration : result.module->getOps<MigrationOp>()) {
    FailureOr<std::vector<uint8_t>> bytes = exportPlan(migration);
    if (failed(bytes))
      return failure();
    result.plans.push_back(std::move(*bytes));
  }
  return result;
}
