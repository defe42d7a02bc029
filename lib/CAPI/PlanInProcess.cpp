//===- PlanInProcess.cpp - From a request to a plan, in a library ---------===//

#include "PlanInProcess.h"

#include "etc/Config/Request.h"
#include "etc/Planner/PlanRequest.h"

#include "mlir/IR/Diagnostics.h"

using namespace etc;
using namespace mlir;

/// A request that was made in memory has no lines worth naming: the field is
/// the place.
static PlanOutcome refuse(llvm::Error error) {
  PlanOutcome outcome;
  outcome.kind = ETC_ERROR_MALFORMED;
  llvm::handleAllErrors(
      std::move(error),
      [&](const config::RequestError &e) {
        if (e.getExitCode() == config::ExitCode::Unsatisfiable)
          outcome.kind = ETC_ERROR_UNSATISFIABLE;
        outcome.error =
            (e.getField() + (e.getField().empty() ? "" : ": ") + e.getText())
                .str();
      },
      [&](const llvm::ErrorInfoBase &e) { outcome.error = e.message(); });
  return outcome;
}

PlanOutcome etc::planInProcess(const std::string &text, bool totalFirst) {
  llvm::Expected<config::Request> request =
      config::parseRequest(text, "request");
  if (!request)
    return refuse(request.takeError());
  if (totalFirst)
    request->objective = "total";
  if (llvm::Error error = config::checkRequest(*request))
    return refuse(std::move(error));

  PlanOutcome outcome;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    // The first is the cause.
    if (outcome.error.empty())
      outcome.error = diagnostic.str();
    return success();
  });
  FailureOr<PlannedRequest> planned = planRequest(context, *request, {});
  if (succeeded(planned)) {
    outcome.bytes = std::move(planned->plans.front());
    outcome.error.clear();
  } else {
    outcome.kind = ETC_ERROR_UNSATISFIABLE;
    if (outcome.error.empty())
      outcome.error = "the request can't be met";
  }
  return outcome;
}
