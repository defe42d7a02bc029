//===- PaperPipeline.cpp - The paper's method, step by step ---------------===//

#include "etc/Transforms/Passes.h"
#include "etc/Verify/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace etc;
using namespace mlir;

void etc::buildPaperPipeline(OpPassManager &passes,
                             const PaperPipelineOptions &options) {
  OpPassManager &sketch = passes.nest<MigrationOp>();
  sketch.addPass(createBuildWorkloadsPass());
  sketch.addPass(createBuildPaperCostsPass());
  sketch.addPass(createBuildCostMatrixPass());
  // The exact assignment comes first, for its certificate: the bound that the
  // paper's sketch is measured by.
  sketch.addPass(createSolveAssignmentPass());
  SolvePaperAssignmentPassOptions costs;
  costs.costs = options.costs;
  sketch.addPass(createSolvePaperAssignmentPass(costs));
  // Coalesced, state goes straight to its final device; in two stages it stops
  // where the sketch puts it.
  DefragmentPassOptions defragment;
  defragment.policy =
      options.twoStage ? DefragmentPolicy::None : DefragmentPolicy::Paper;
  sketch.addPass(createDefragmentPass(defragment));
  if (options.twoStage)
    passes.addPass(createTwoStagePass());
  OpPassManager &plan = passes.nest<MigrationOp>();
  plan.addPass(createBuildDemandsPass());
  plan.addPass(createRoutePass());
  plan.addPass(createScheduleChunksPass());
  plan.addPass(createLowerToInstructionsPass());
  plan.addPass(createVerifyPlanPass());
}

void etc::registerPaperPipeline() {
  PassPipelineRegistration<PaperPipelineOptions>(
      "etc-paper-plan",
      "From the request stage to a proven plan, as the paper does it",
      buildPaperPipeline);
}
