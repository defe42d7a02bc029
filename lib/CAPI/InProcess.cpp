//===- InProcess.cpp - The planner's verbs on requests in memory ----------===//

#include "InProcess.h"

#include "core/plan/Condense.h"
#include "etc/Export/PlanText.h"
#include "etc/Export/Ranks.h"
#include "etc/Planner/Chain.h"
#include "etc/Planner/Checks.h"
#include "etc/Planner/Explain.h"
#include "etc/Planner/Frontier.h"
#include "etc/Planner/Price.h"
#include "etc/Planner/Report.h"
#include "etc/Planner/WhichNodes.h"
#include "etc/Request/Hosts.h"

#include "mlir/IR/Diagnostics.h"

using namespace etc;
using namespace mlir;
using request::Request;

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// A request that was made in memory has no lines worth naming: the field is
/// the place.
static Answer refuse(llvm::Error error) {
  Answer answer;
  answer.kind = ETC_ERROR_MALFORMED;
  llvm::handleAllErrors(
      std::move(error),
      [&](const request::RequestError &e) {
        if (e.getExitCode() == request::ExitCode::Unsatisfiable)
          answer.kind = ETC_ERROR_UNSATISFIABLE;
        answer.error =
            (e.getField() + (e.getField().empty() ? "" : ": ") + e.getText())
                .str();
      },
      [&](const llvm::ErrorInfoBase &e) { answer.error = e.message(); });
  return answer;
}

/// An argument beside the request.
static Answer refuseUsage(llvm::Error error) {
  Answer answer = refuse(std::move(error));
  answer.kind = ETC_ERROR_USAGE;
  return answer;
}

//===----------------------------------------------------------------------===//
// On requests
//===----------------------------------------------------------------------===//

static llvm::Error accept(const Request &) { return llvm::Error::success(); }

/// Has `verb` write its answer; what it says instead is the error.
static Answer answerWith(
    llvm::function_ref<LogicalResult(MLIRContext &, raw_ostream &)> verb) {
  Answer answer;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  // The constructor leaves attributes and types their locks.
  context.disableMultithreading();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    // The first is the cause.
    if (answer.error.empty())
      answer.error = diagnostic.str();
    return success();
  });
  llvm::raw_string_ostream os(answer.text);
  if (succeeded(verb(context, os))) {
    answer.error.clear();
    return answer;
  }
  answer.kind = ETC_ERROR_UNSATISFIABLE;
  if (answer.error.empty())
    answer.error = "the request can't be met";
  return answer;
}

/// Reads and checks the request; then has `verb` write its answer.
static Answer
ask(const std::string &text, const AskOptions &options,
    llvm::function_ref<llvm::Error(const Request &)> check,
    llvm::function_ref<LogicalResult(MLIRContext &, const Request &,
                                     raw_ostream &)>
        verb) {
  llvm::Expected<Request> request = request::parseRequest(text, "request");
  if (!request)
    return refuse(request.takeError());
  if (llvm::Error error = request::checkRequest(*request))
    return refuse(std::move(error));
  if (llvm::Error error = checkRates(options.rates.value_or(Rates())))
    return refuseUsage(std::move(error));
  if (llvm::Error error = check(*request))
    return refuse(std::move(error));

  return answerWith([&](MLIRContext &context, raw_ostream &os) {
    return verb(context, *request, os);
  });
}

/// The same of a request that is planned once.
static Answer askPlanned(
    const std::string &text, const AskOptions &options,
    llvm::function_ref<void(const Request &, PlannedRequest &, raw_ostream &)>
        write,
    const PlanOptions &how = {}) {
  return ask(text, options, how.twoStage ? checkTwoStage : accept,
             [&](MLIRContext &context, const Request &request,
                 raw_ostream &os) -> LogicalResult {
               FailureOr<PlannedRequest> planned =
                   planRequest(context, request, how);
               if (failed(planned))
                 return failure();
               write(request, *planned, os);
               return success();
             });
}

static void writePlan(ArrayRef<uint8_t> plan, raw_ostream &os) {
  const std::vector<uint8_t> bytes = plan::condensePlan(plan);
  os.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

Answer etc::askPlan(const std::string &request, const AskOptions &options) {
  PlanOptions how;
  how.keepsLanes = true;
  return askPlanned(
      request, options,
      [](const Request &, PlannedRequest &planned, raw_ostream &os) {
        writePlan(planned.plans.front(), os);
      },
      how);
}

/// The error names one of several requests.
static Answer refuseOneOf(llvm::Error error) {
  std::string name;
  error = llvm::handleErrors(
      std::move(error),
      [&](std::unique_ptr<request::RequestError> e) -> llvm::Error {
        if (e->getLocation().file.starts_with("requests["))
          name = e->getLocation().file + ": ";
        return llvm::Error(std::move(e));
      });
  Answer answer = refuse(std::move(error));
  answer.error = name + answer.error;
  return answer;
}

Answer etc::askChain(const std::vector<std::string> &requests,
                     const AskOptions &options,
                     const std::optional<std::string> &journal) {
  if (llvm::Error error = checkRates(options.rates.value_or(Rates())))
    return refuseUsage(std::move(error));
  Chain chain;
  for (const std::string &text : requests) {
    llvm::Expected<Request> request = request::parseRequest(
        text, "requests[" + std::to_string(chain.size()) + "]");
    if (!request)
      return refuseOneOf(request.takeError());
    chain.push_back(std::move(*request));
  }
  if (llvm::Error error = linkChain(chain))
    return refuseOneOf(std::move(error));
  if (journal)
    if (llvm::Error error = checkNotBegun(*journal, {{}, "journal"}))
      return refuse(std::move(error));
  return answerWith(
      [&](MLIRContext &context, raw_ostream &os) -> LogicalResult {
        PlanOptions how;
        how.keepsLanes = true;
        FailureOr<PlannedRequest> planned = planChain(context, chain, how);
        if (failed(planned))
          return failure();
        writePlan(planned->plans.front(), os);
        return success();
      });
}

Answer etc::askTwoStage(const std::string &request, const AskOptions &options,
                        std::string &second) {
  PlanOptions how;
  how.twoStage = true;
  llvm::raw_string_ostream secondStream(second);
  return askPlanned(
      request, options,
      [&](const Request &, PlannedRequest &planned, raw_ostream &os) {
        writePlan(planned.plans.front(), os);
        writePlan(planned.plans.back(), secondStream);
      },
      how);
}

Answer etc::askExplanation(const std::string &request,
                           const AskOptions &options) {
  return askPlanned(
      request, options,
      [](const Request &request, PlannedRequest &planned, raw_ostream &os) {
        writeExplanation(request, planned, priceOf(request, planned), os);
      });
}

Answer etc::askPrice(const std::string &request, const AskOptions &options) {
  return askPlanned(
      request, options,
      [](const Request &request, PlannedRequest &planned, raw_ostream &os) {
        writePriceJson(priceOf(request, planned), os);
      });
}

Answer etc::askFrontier(const std::string &request, const AskOptions &options) {
  return ask(request, options, checkComparable,
             [&](MLIRContext &context, const Request &request,
                 raw_ostream &os) -> LogicalResult {
               FailureOr<Frontier> frontier =
                   findFrontier(context, request, {}, options.rates);
               if (failed(frontier))
                 return failure();
               writeFrontierJson(*frontier, os);
               return success();
             });
}

Answer etc::askWhichNodes(const std::string &request, const AskOptions &options,
                          int64_t count) {
  if (count < 1)
    return refuseUsage(
        request::malformed({{}, "count"}, "expected a positive integer, got " +
                                              llvm::Twine(count)));
  return ask(request, options, checkComparable,
             [&](MLIRContext &context, const Request &request,
                 raw_ostream &os) -> LogicalResult {
               FailureOr<WhichNodes> found = findWhichNodes(
                   context, request, {}, options.rates, count, "count");
               if (failed(found))
                 return failure();
               writeWhichNodesJson(*found, os);
               return success();
             });
}

//===----------------------------------------------------------------------===//
// On plans
//===----------------------------------------------------------------------===//

Answer etc::askRanks(const plan::fb::Plan &plan,
                     std::vector<std::string> hosts) {
  if (hosts.empty())
    hosts = defaultHosts(plan.nodes()->size());
  else if (llvm::Error error = request::checkHostNames(
               hosts, plan.nodes()->size(), {{}, "hosts"}))
    return refuseUsage(std::move(error));
  Answer answer;
  llvm::raw_string_ostream os(answer.text);
  writeRanksJson(plan, hosts, os);
  return answer;
}

Answer etc::askReport(const plan::fb::Plan &plan, const AskOptions &options) {
  if (llvm::Error error = checkRates(options.rates.value_or(Rates())))
    return refuseUsage(std::move(error));
  std::string notes;
  llvm::raw_string_ostream os(notes);
  writeSummary(plan, os);
  Answer answer;
  answer.text = reportPage(plan, options.rates, notes);
  return answer;
}
