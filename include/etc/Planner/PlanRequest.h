//===- PlanRequest.h - From a request to proven plans -----------*- C++ -*-===//

#ifndef ETC_PLANNER_PLANREQUEST_H
#define ETC_PLANNER_PLANREQUEST_H

#include "dialect/Etc.h"
#include "etc/Request/Request.h"
#include "view/simulate/PlanTime.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace etc {

/// A plan file for each migration of the module.
using Plans = std::vector<std::vector<uint8_t>>;

/// A request that was planned: its IR in the last stage, and the plan files.
/// The IR is that of a lane where the plan was made for one.
struct PlannedRequest {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Plans plans;
  /// What each plan takes, where that was asked to choose them; else empty.
  std::vector<runtime::PlanTime> times = {};
};

/// How to plan, beyond what requests say.
struct PlanOptions {
  /// Under the paper's policy: de-fragment in a second plan.
  bool twoStage = false;
  /// Whether a chain of requests becomes one plan, and not one for each.
  bool coalesce = true;
  /// From how many devices on a plan is made for one lane, where all lanes of
  /// tensor-parallel ranks do the same (docs/decisions).
  int64_t lanesFrom = 512;
  /// Whether a plan that was made so stays one of a lane, as files have it.
  bool keepsLanes = false;
  /// Where roles are put, if not everywhere where the request allows them.
  /// Absent, the best plan is found of these and of the narrower places.
  std::optional<Place> within;
  std::vector<Place> narrower = {Place::Tp, Place::Pack};
  /// Whether roles that lack the same bytes come together on nodes. Absent, the
  /// better plan of both is found.
  std::optional<bool> shareNodes;
  /// Whether roles take devices whose NICs nobody else reaches, where nodes are
  /// not full. Absent, the faster of both is found for least time.
  std::optional<bool> reachNics;
  /// Seconds of the pause: a plan that surely takes as long fails (0: none
  /// does).
  double fasterThan = 0;
  /// Of the larger state: without a budget, a plan with a higher peak fails (0:
  /// none does).
  double mostPeak = 0;
  /// Whether bounds of time may have tolls: those of a lane or of a section are
  /// none of the whole plan.
  bool findsTolls = true;
  /// What a tool adds to the passes, such as timing; may be empty.
  std::function<mlir::LogicalResult(mlir::PassManager &)> instrument;
};

/// Plans a request that request::checkRequest has passed. Fails with a
/// diagnostic where it can't be met. The same request gives the same plans,
/// byte for byte.
mlir::FailureOr<PlannedRequest> planRequest(mlir::MLIRContext &context,
                                            const request::Request &request,
                                            const PlanOptions &options);

/// Makes plans of a lane those of all.
void unfoldLanes(PlannedRequest &planned);

} // namespace etc

#endif // ETC_PLANNER_PLANREQUEST_H
