//===- PlanRequest.cpp - From a request to proven plans -------------------===//

#include "etc/Planner/PlanRequest.h"

#include "etc/Export/Export.h"
#include "etc/Import/Import.h"
#include "etc/Transforms/Passes.h"
#include "etc/Verify/Boundaries.h"

using namespace etc;
using namespace mlir;

static LogicalResult planModule(ModuleOp module,
                                const request::Request &request,
                                const PlanOptions &options) {
  PassManager passes(module.getContext());
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
  return passes.run(module);
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

FailureOr<PlannedRequest> etc::planRequest(MLIRContext &context,
                                           const request::Request &request,
                                           const PlanOptions &options) {
  PlannedRequest result{importRequest(context, request), {}};
  if (!result.module)
    return failure();
  if (failed(planModule(*result.module, request, options)))
    return failure();
  const auto migrations = llvm::to_vector(result.module->getOps<MigrationOp>());
  if (failed(checkEnds(migrations, request)))
    return failure();
  for (MigrationOp migration : migrations) {
    FailureOr<std::vector<uint8_t>> bytes = exportPlan(migration);
    if (failed(bytes) ||
        failed(verifyPlanFile(migration, *plan::fb::GetPlan(bytes->data()))))
      return failure();
    result.plans.push_back(std::move(*bytes));
  }
  return result;
}
