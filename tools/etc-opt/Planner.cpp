//===- Planner.cpp - From a request to an output --------------------------===//

#include "Planner.h"

#include "CheckOptions.h"
#include "Frontier.h"
#include "Input.h"
#include "Outputs.h"
#include "RankFiles.h"
#include "Rates.h"
#include "Slices.h"
#include "WhichNodes.h"
#include "core/plan/Condense.h"
#include "etc/Export/PlanText.h"
#include "etc/Planner/Chain.h"
#include "etc/Planner/Explain.h"
#include "etc/Planner/Report.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace etc;
using namespace mlir;
using request::ExitCode;

/// One line a diagnostic, at the user's file where there is one.
static LogicalResult printDiagnostic(Diagnostic &diagnostic) {
  if (auto where = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
    llvm::errs() << where.getFilename().getValue() << ":" << where.getLine()
                 << ":" << where.getColumn() << ": error: ";
  else
    llvm::errs() << "etc-opt: error: ";
  llvm::errs() << diagnostic << "\n";
  return success();
}

/// Whether plans are written as files, which have lanes.
static bool writesFiles(const PlannerOptions &options) {
  return options.emit == Emit::Plan && !options.slice;
}

PlanOptions etc::planOptions(const PlannerOptions &options) {
  PlanOptions result;
  result.twoStage = options.twoStage;
  result.coalesce = options.coalesce;
  if (options.lanesFrom)
    result.lanesFrom = *options.lanesFrom;
  result.keepsLanes = writesFiles(options);
  result.instrument = [](PassManager &passes) {
    applyDefaultTimingPassManagerCLOptions(passes);
    return applyPassManagerCLOptions(passes);
  };
  return result;
}

constexpr uint64_t mostRequestBytes = uint64_t(1) << 26;

/// The request of a file, which options override.
static llvm::Expected<request::Request>
readRequest(const std::string &name, const request::Overrides &overrides) {
  plan::Result<std::string> text = readInput(name, mostRequestBytes);
  if (!text)
    return llvm::createStringError("etc-opt: error: " +
                                   text.status().message());
  llvm::Expected<request::Request> request = request::parseRequest(*text, name);
  if (!request)
    return request.takeError();
  if (llvm::Error error = request::applyOverrides(*request, overrides))
    return error;
  return request;
}

/// The requests of all files, or that of the options alone.
static llvm::Error readChain(const PlannerOptions &options, Chain &chain) {
  auto add = [&](llvm::Expected<request::Request> request) -> llvm::Error {
    if (!request)
      return request.takeError();
    chain.push_back(std::move(*request));
    return llvm::Error::success();
  };
  if (options.input.empty())
    return add(request::requestFromOptions(options.overrides));
  if (llvm::Error error = add(readRequest(options.input, options.overrides)))
    return error;
  for (const std::string &name : options.following)
    if (llvm::Error error = add(readRequest(name, options.overrides)))
      return error;
  return llvm::Error::success();
}

/// Reads and checks the requests; those that follow each other have the ends of
/// those before.
static llvm::Error readRequests(const PlannerOptions &options, Chain &chain) {
  if (llvm::Error error = readChain(options, chain))
    return error;
  if (llvm::Error error = linkChain(chain))
    return error;
  if (!options.journal)
    return llvm::Error::success();
  return checkNotBegun(*options.journal,
                       {{options.overrides.program, 0, 0}, "--journal"});
}

/// m.etcplan where there is one plan, else m.1.etcplan, m.2.etcplan, ...
static std::string outputName(StringRef output, size_t number, size_t count) {
  return count == 1 ? output.str() : numberedOutput(output, number);
}

static void writePlanFile(ArrayRef<uint8_t> plan, raw_ostream &os) {
  const std::vector<uint8_t> bytes = plan::condensePlan(plan);
  os << StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

static int emit(const PlannerOptions &options, const request::Request &request,
                PlannedRequest &planned) {
  const Plans &plans = planned.plans;
  std::string summary;
  llvm::raw_string_ostream summaryStream(summary);
  std::optional<Price> price;
  if (!options.quiet || options.emit == Emit::Summary ||
      options.emit == Emit::Report) {
    price = priceOf(request, planned);
    writeExplanation(request, planned, price, summaryStream);
  }
  if (!options.quiet && options.emit != Emit::Summary)
    llvm::errs() << summary;
  if (options.emit == Emit::Mlir)
    return writeOutputs(Output{options.output, [&](llvm::raw_ostream &os) {
                                 planned.module->print(os);
                               }});
  if (options.emit == Emit::Summary)
    return writeOutputs(
        Output{options.output, [&](llvm::raw_ostream &os) { os << summary; }});
  if (options.emit == Emit::Ranks)
    return writeRanks(options, request.hosts,
                      *plan::fb::GetPlan(plans.back().data()));
  if (options.slice)
    return writeSlices(options, *plan::fb::GetPlan(plans.back().data()));
  SmallVector<Output> outputs;
  for (const std::vector<uint8_t> &bytes : plans)
    outputs.push_back(
        {outputName(options.output, outputs.size() + 1, plans.size()),
         [&](llvm::raw_ostream &os) {
           const plan::fb::Plan &plan = *plan::fb::GetPlan(bytes.data());
           if (options.emit == Emit::Json)
             writeJson(plan, options.listDevices(), os);
           else if (options.emit == Emit::Report)
             os << reportPage(plan, givenRates(options), summary, price);
           else
             writePlanFile(bytes, os);
         }});
  return writeOutputs(outputs);
}

int etc::runPlanner(const PlannerOptions &options) {
  if (int status = checkChain(options))
    return status;
  Chain chain;
  if (llvm::Error error = readRequests(options, chain))
    return request::reportError(std::move(error), llvm::errs());
  request::Request request = chain.back();
  request.prev = chain.front().prev;
  if (int status = checkOptions(options, request))
    return status;

  // The process ends here, and taking the IR of a large cluster apart would
  // only delay that: neither it nor its context is freed.
  static MLIRContext &context =
      *new MLIRContext(MLIRContext::Threading::DISABLED);
  // The constructor leaves attributes and types their locks.
  context.disableMultithreading();
  ScopedDiagnosticHandler handler(&context, printDiagnostic);
  if (options.frontier)
    return writeFrontier(context, request, options);
  if (options.whichNodes)
    return writeWhichNodes(context, request, options);
  static FailureOr<PlannedRequest> &planned = *new FailureOr<PlannedRequest>(
      planChain(context, chain, planOptions(options)));
  if (failed(planned))
    return static_cast<int>(ExitCode::Unsatisfiable);
  return emit(options, request, *planned);
}
