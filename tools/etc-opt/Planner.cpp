//===- Planner.cpp - From a request to an output --------------------------===//

#include "Planner.h"

#include "etc/Export/Export.h"
#include "etc/Export/PlanText.h"
#include "etc/Import/Import.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

using namespace etc;
using namespace mlir;
using config::ExitCode;

/// JSON lists every device; above this many it has to be asked for.
static constexpr size_t jsonDeviceLimit = 1024;

static int fail(const Twine &message, ExitCode code) {
  llvm::errs() << "etc-opt: error: " << message << "\n";
  return static_cast<int>(code);
}

/// The request of a file, or of the options alone.
static llvm::Expected<config::Request>
readRequest(const PlannerOptions &options) {
  if (options.input.empty())
    return config::requestFromOptions(options.shorthand);
  auto buffer =
      llvm::MemoryBuffer::getFileOrSTDIN(options.input, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError("etc-opt: error: " + options.input + ": " +
                                   buffer.getError().message());
  llvm::Expected<config::Request> request =
      config::parseRequest((*buffer)->getBuffer(), options.input);
  if (!request)
    return request.takeError();
  if (llvm::Error error = config::applyOverrides(*request, options.shorthand))
    return error;
  return request;
}

/// One line a diagnostic, at the user's file where there is one.
static LogicalResult printDiagnostic(Diagnostic &diagnostic) {
  if (auto where = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
    llvm::errs() << where.getFilename().getValue() << ":" << where.getLine()
                 << ":" << where.getColumn() << ": error: ";
  else
    llvm::errs() << "etc-opt: error: ";
  llvm::errs() << diagnostic << "\n";
  return success();
}

static LogicalResult planModule(ModuleOp module, const PlannerOptions &options,
                                bool asPaper) {
  PassManager passes(module.getContext());
  applyDefaultTimingPassManagerCLOptions(passes);
  if (failed(applyPassManagerCLOptions(passes)))
    return failure();
  if (asPaper) {
    PaperPipelineOptions paper;
    paper.twoStage = options.twoStage;
    paper.costs = options.paperCosts.value_or(CostUnit::Merged);
    buildPaperPipeline(passes, paper);
  } else {
    buildPlanPipeline(passes);
  }
  return passes.run(module);
}

/// Whether the options go together with the policy and with each other; else
/// the exit status.
static int checkOptions(const PlannerOptions &options,
                        const config::Request &request) {
  if (request.policy != "paper" && (options.twoStage || options.paperCosts))
    return fail(Twine(options.twoStage ? "--two-stage" : "--paper-costs") +
                    " is of the paper's method; add --policy=paper",
                ExitCode::Malformed);
  bool writesPlans = options.emit == Emit::Plan || options.emit == Emit::Json;
  if (writesPlans && options.twoStage && options.output == "-")
    return fail("--two-stage writes two plans; name a file with -o",
                ExitCode::Malformed);
  if (options.emit == Emit::Plan && options.output == "-" &&
      llvm::sys::Process::StandardOutIsDisplayed())
    return fail("a plan is binary; name a file with -o", ExitCode::Malformed);
  if (options.devices && options.emit != Emit::Json)
    return fail("--devices needs --emit=json", ExitCode::Malformed);
  for (int64_t device : options.devices.value_or(std::vector<int64_t>()))
    if (device < 0 || device >= request.deviceCount())
      return fail("--devices: " + Twine(device) +
                      " is not one of the cluster's " +
                      Twine(request.deviceCount()) + " devices",
                  ExitCode::Malformed);
  if (request.policy == "paper" && options.shorthand.place)
    return fail("--place: the paper's policy has a placement of its own; leave "
                "one of the two out",
                ExitCode::Malformed);
  if (options.emit == Emit::Json && !options.devices &&
      request.deviceCount() > static_cast<int64_t>(jsonDeviceLimit))
    return fail("--emit=json of more than 1024 devices needs --devices=LIST",
                ExitCode::Malformed);
  return 0;
}

/// What goes into one file.
struct Output {
  std::string name;
  std::function<void(llvm::raw_ostream &)> write;
};

/// Writes all of the outputs or none of them.
static int writeOutputs(ArrayRef<Output> outputs) {
  SmallVector<std::unique_ptr<llvm::ToolOutputFile>> files;
  for (const Output &output : outputs) {
    std::string error;
    files.push_back(openOutputFile(output.name, &error));
    if (!files.back())
      return fail(error, ExitCode::Malformed);
    llvm::raw_fd_ostream &os = files.back()->os();
    output.write(os);
    os.flush();
    if (os.has_error()) {
      os.clear_error();
      return fail(output.name + ": could not write all of the output",
                  ExitCode::Malformed);
    }
  }
  for (std::unique_ptr<llvm::ToolOutputFile> &file : files)
    file->keep();
  return 0;
}

/// A plan for each migration of the module.
using Plans = std::vector<std::vector<uint8_t>>;

static void writeSummaries(const Plans &plans, llvm::raw_ostream &os) {
  uint64_t moved = 0, internode = 0;
  for (const std::vector<uint8_t> &bytes : plans) {
    const plan::fb::Plan &plan = *plan::fb::GetPlan(bytes.data());
    writeSummary(plan, os);
    moved += plan.summary()->moved_bytes();
    internode += plan.summary()->internode_bytes();
  }
  if (plans.size() > 1)
    os << "in all: moves " << formatBytes(moved) << ", "
       << formatBytes(internode) << " between nodes, in " << plans.size()
       << " stages\n";
}

/// m.etcplan where there is one plan, else m.1.etcplan, m.2.etcplan, ...
static std::string outputName(StringRef output, size_t number, size_t count) {
  if (count == 1)
    return output.str();
  StringRef extension = llvm::sys::path::extension(output);
  return (output.drop_back(extension.size()) + "." + Twine(number) + extension)
      .str();
}

static int emit(const PlannerOptions &options, ModuleOp module,
                const Plans &plans) {
  if (!options.quiet && options.emit != Emit::Summary)
    writeSummaries(plans, llvm::errs());
  if (options.emit == Emit::Mlir)
    return writeOutputs(Output{
        options.output, [&](llvm::raw_ostream &os) { module.print(os); }});
  if (options.emit == Emit::Summary)
    return writeOutputs(Output{options.output, [&](llvm::raw_ostream &os) {
                                 writeSummaries(plans, os);
                               }});
  SmallVector<Output> outputs;
  for (const std::vector<uint8_t> &bytes : plans)
    outputs.push_back(
        {outputName(options.output, outputs.size() + 1, plans.size()),
         [&](llvm::raw_ostream &os) {
           if (options.emit == Emit::Json)
             writeJson(*plan::fb::GetPlan(bytes.data()), options.devices, os);
           else
             os << StringRef(reinterpret_cast<const char *>(bytes.data()),
                             bytes.size());
         }});
  return writeOutputs(outputs);
}

int etc::runPlanner(const PlannerOptions &options) {
  llvm::Expected<config::Request> request = readRequest(options);
  if (!request)
    return config::reportError(request.takeError(), llvm::errs());
  if (llvm::Error error = config::checkRequest(*request))
    return config::reportError(std::move(error), llvm::errs());
  if (int status = checkOptions(options, *request))
    return status;

  MLIRContext context(MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, printDiagnostic);
  OwningOpRef<ModuleOp> module = importRequest(context, *request);
  if (failed(planModule(*module, options, request->policy == "paper")))
    return static_cast<int>(ExitCode::Unsatisfiable);
  Plans plans;
  for (MigrationOp migration : module->getOps<MigrationOp>()) {
    FailureOr<std::vector<uint8_t>> bytes = exportPlan(migration);
    if (failed(bytes))
      return static_cast<int>(ExitCode::Unsatisfiable);
    plans.push_back(std::move(*bytes));
  }
  return emit(options, *module, plans);
}
