//===- RunPasses.h - What every way to plan does --------------------------===//

#ifndef ETC_LIB_PLANNER_RUNPASSES_H
#define ETC_LIB_PLANNER_RUNPASSES_H

#include "etc/Planner/PlanRequest.h"
#include "etc/Transforms/Passes.h"

namespace etc {

/// Runs the passes that `build` adds, under the options' instruments.
mlir::LogicalResult
runPasses(mlir::ModuleOp module, const PlanOptions &options,
          llvm::function_ref<void(mlir::PassManager &)> build);

/// How a request is planned under the policy "best".
void readOptions(const request::Request &request, PlanPipelineOptions &options);

/// Appends the plan file of every migration, all proved, each checked against
/// its migration.
mlir::LogicalResult exportPlans(PlannedRequest &planned);

} // namespace etc

#endif // ETC_LIB_PLANNER_RUNPASSES_H
