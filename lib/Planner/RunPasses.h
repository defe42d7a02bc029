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

/// Plans requests, by options or others.
using PlanFn = llvm::function_ref<mlir::FailureOr<PlannedRequest>(
    llvm::ArrayRef<request::Request>, const PlanOptions &)>;

/// Plans requests whose objective is time, and again by bytes where rounds make
/// plans take longer than what their links and NICs carry: routes are chosen by
/// what these carry, so bytes may then be faster. Returns the faster plans; of
/// equals, those by time. Where there are none by time, as within a memory
/// budget that has no room for relays, returns those by bytes. One plan by
/// bytes ends early where it can't be faster.
mlir::FailureOr<PlannedRequest>
planFaster(mlir::MLIRContext &context, std::vector<request::Request> requests,
           const PlanOptions &options, PlanFn plan);

/// Whether a request is planned for least time.
bool isByTime(const request::Request &request);

/// Plans of one request, by options.
using PlanByOptions =
    llvm::function_ref<mlir::FailureOr<PlannedRequest>(const PlanOptions &)>;

/// Whether a request is planned with roles where narrower values of its place
/// put them, too.
bool triesNarrower(const request::Request &request, const PlanOptions &options);

/// Plans a request by `plan` with roles where it allows them and, where that
/// could be better and the plan is not large, where narrower values of its
/// place put them, unless options say which. Returns the best plan, as isBetter
/// has it; of equals, the first.
mlir::FailureOr<PlannedRequest> planAmongPlaces(mlir::MLIRContext &context,
                                                const request::Request &request,
                                                const PlanOptions &options,
                                                PlanByOptions plan);

/// Plans a request by `plan` with roles that share nodes where fewer bytes then
/// enter these, and again without where that could be better, unless options
/// say which. Returns the better plan; of equals, the first.
mlir::FailureOr<PlannedRequest> planToShare(mlir::MLIRContext &context,
                                            const request::Request &request,
                                            const PlanOptions &options,
                                            PlanByOptions plan);

/// Plans a request by `plan` with options that let roles reach more NICs, and
/// again without where that could be faster, unless options say which. Returns
/// the faster plan; of equals, that without.
mlir::FailureOr<PlannedRequest> planForNics(mlir::MLIRContext &context,
                                            const request::Request &request,
                                            const PlanOptions &options,
                                            PlanByOptions plan);

/// How a request is planned under the policy "best".
void readOptions(const request::Request &request, const PlanOptions &options,
                 PlanPipelineOptions &pipeline);

/// Appends the plan file of every migration, all proved, each checked against
/// its migration.
mlir::LogicalResult exportPlans(PlannedRequest &planned);

} // namespace etc

#endif // ETC_LIB_PLANNER_RUNPASSES_H
