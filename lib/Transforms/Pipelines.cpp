//===- Pipelines.cpp - The order of the passes ----------------------------===//

#include "etc/Transforms/Passes.h"
#include "etc/Verify/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace etc;
using namespace mlir;

void etc::buildDemandsPipeline(OpPassManager &migration,
                               const PlanPipelineOptions &options) {
  // What both sides hold comes first: every later stage names it by id.
  migration.addPass(createBuildWorkloadsPass());
  // Costs stand in the IR, so that the assignment can be checked against them.
  migration.addPass(createBuildCostMatrixPass());
  // The bound comes first, and the sketch that reaches it where topology can't
  // bind.
  migration.addPass(createSolveAssignmentPass());
  // Devices once, and for good: all that follows names them.
  DefragmentPassOptions defragment;
  defragment.totalFirst = options.totalFirst;
  defragment.within = options.within;
  defragment.listsNarrower = options.listsNarrower;
  defragment.shareNodes = options.shareNodes;
  defragment.reachNics = options.reachNics;
  migration.addPass(createDefragmentPass(defragment));
  // Only now is it known who lacks what.
  migration.addPass(createBuildDemandsPass());
}

void etc::buildInstructionsPipeline(OpPassManager &migration,
                                    const PlanPipelineOptions &options) {
  // All demands at once: they share ports.
  RoutePassOptions route;
  route.byTime = options.byTime;
  route.leastGain = options.leastGain;
  route.findsTolls = options.findsTolls;
  route.fasterThan = options.fasterThan;
  migration.addPass(createRoutePass(route));
  // All transfers at once: memory couples their rounds.
  ScheduleChunksPassOptions schedule;
  schedule.byTime = options.byTime;
  schedule.leastGain = options.leastGain;
  schedule.fasterThan = options.fasterThan;
  schedule.mostPeak = options.mostPeak;
  migration.addPass(createScheduleChunksPass(schedule));
  // Nothing is left to decide: both ends of a message are written from one
  // transfer.
  migration.addPass(createLowerToInstructionsPass());
  // Last, and apart: nothing leaves the compiler unproven.
  migration.addPass(createVerifyPlanPass());
}

void etc::buildPlanPipeline(OpPassManager &passes,
                            const PlanPipelineOptions &options) {
  OpPassManager &migration = passes.nest<MigrationOp>();
  buildDemandsPipeline(migration, options);
  buildInstructionsPipeline(migration, options);
}

void etc::registerEtcPipelines() {
  PassPipelineRegistration<PlanPipelineOptions>(
      "etc-plan", "From the request stage to a proven plan", buildPlanPipeline);
  registerPaperPipeline();
}
