//===- PlanRequest.h - From a request to proven plans ---------------------===//

#ifndef ETC_TOOLS_ETCOPT_PLANREQUEST_H
#define ETC_TOOLS_ETCOPT_PLANREQUEST_H

#include "Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace etc {

/// A plan for each migration of the module.
using Plans = std::vector<std::vector<uint8_t>>;

/// A request that was planned: its IR in the last stage, and the plan files.
struct PlannedRequest {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Plans plans;
};

/// Plans a request that config::checkRequest has passed. Fails with a
/// diagnostic where it can't be met.
mlir::FailureOr<PlannedRequest> planRequest(mlir::MLIRContext &context,
                                            const config::Request &request,
                                            const PlannerOptions &options);

/// One line a diagnostic, at the user's file where there is one.
mlir::LogicalResult printDiagnostic(mlir::Diagnostic &diagnostic);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_PLANREQUEST_H
