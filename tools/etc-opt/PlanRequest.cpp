//===- PlanRequest.cpp - From a request to proven plans -------------------===//

#include "PlanRequest.h"

#include "etc/Export/Export.h"
#include "etc/Import/Import.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace etc;
using namespace mlir;

LogicalResult etc::printDiagnostic(Diagnostic &diagnostic) {
  if (auto where = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
    llvm::errs() << where.getFilename().getValue() << ":" << where.getLine()
                 << ":" << where.getColumn() << ": error: ";
  else
    llvm::errs() << "etc-opt: error: ";
  llvm::errs() << diagnostic << "\n";
  return success();
}

static LogicalResult planModule(ModuleOp module, const config::Request &request,
                                const PlannerOptions &options) {
  PassManager passes(module.getContext());
  // Our own passes are tested with the verifier on; plans of many devices are
  // large, and checked once.
  passes.enableVerifier(false);
  applyDefaultTimingPassManagerCLOptions(passes);
  if (failed(applyPassManagerCLOptions(passes)))
    return failure();
  if (request.policy == "paper") {
    PaperPipelineOptions paper;
    paper.twoStage = options.twoStage;
    paper.costs = options.paperCosts.value_or(CostUnit::Merged);
    buildPaperPipeline(passes, paper);
  } else {
    PlanPipelineOptions best;
    best.totalFirst = request.isTotalFirst();
    buildPlanPipeline(passes, best);
  }
  return success(succeeded(passes.run(module)) && succeeded(verify(module)));
}

FailureOr<PlannedRequest> etc::planRequest(MLIRContext &context,
                                           const config::Request &request,
                                           const PlannerOptions &options) {
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
