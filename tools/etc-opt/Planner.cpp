//===- Planner.cpp - From a request to an output --------------------------------===//

#include "Planner.h"

#include "etc/Export/Export.h"
#include "etc/Export/PlanText.h"
#include "etc/Import/Import.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
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
static llvm::Expected<config::Request> readRequest(const PlannerOptions &options) {
  if (options.input.empty())
    return config::requestFromOptions(options.shorthand);
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(options.input, /*IsText=*/true);
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
    llvm::errs() << where.getFilename().getValue() << ":" << where.getLine() << ":"
                 << where.getColumn() << ": error: ";
  else
    llvm::errs() << "etc-opt: error: ";
  llvm::errs() << diagnostic << "\n";
  return success();
}

static LogicalResult planModule(ModuleOp module) {
  PassManager passes(module.getContext());
  if (failed(applyPassManagerCLOptions(passes)))
    return failure();
  buildPlanPipeline(passes);
  return passes.run(module);
}

/// Writes all of the output or none of it.
static int writeOutput(const PlannerOptions &options,
                       llvm::function_ref<void(llvm::raw_ostream &)> write) {
  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(options.output, &error);
  if (!file)
    return fail(error, ExitCode::Malformed);
  write(file->os());
  file->os().flush();
  if (file->os().has_error()) {
    file->os().clear_error();
    return fail(options.output + ": could not write all of the output", ExitCode::Malformed);
  }
  file->keep();
  return 0;
}

static int emit(const PlannerOptions &options, ModuleOp module, ArrayRef<uint8_t> bytes) {
  const plan::fb::Plan &plan = *plan::fb::GetPlan(bytes.data());
  if (!options.quiet && options.emit != Emit::Summary)
    writeSummary(plan, llvm::errs());
  return writeOutput(options, [&](llvm::raw_ostream &os) {
    switch (options.emit) {
    case Emit::Mlir:
      module.print(os);
      break;
    case Emit::Plan:
      os << StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size());
      break;
    case Emit::Json:
      writeJson(plan, options.devices, os);
      break;
    case Emit::Summary:
      writeSummary(plan, os);
      break;
    }
  });
}

int etc::runPlanner(const PlannerOptions &options) {
  llvm::Expected<config::Request> request = readRequest(options);
  if (!request)
    return config::reportError(request.takeError(), llvm::errs());
  if (llvm::Error error = config::checkRequest(*request))
    return config::reportError(std::move(error), llvm::errs());
  if (options.emit == Emit::Plan && options.output == "-" &&
      llvm::sys::Process::StandardOutIsDisplayed())
    return fail("a plan is binary; name a file with -o", ExitCode::Malformed);
  if (options.emit == Emit::Json && !options.devices &&
      request->deviceCount() > static_cast<int64_t>(jsonDeviceLimit))
    return fail("--emit=json of more than 1024 devices needs --devices=LIST", ExitCode::Malformed);

  MLIRContext context(MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, printDiagnostic);
  OwningOpRef<ModuleOp> module = importRequest(context, *request);
  if (failed(planModule(*module)))
    return static_cast<int>(ExitCode::Unsatisfiable);
  FailureOr<std::vector<uint8_t>> bytes =
      exportPlan(*module->getOps<MigrationOp>().begin());
  if (failed(bytes))
    return static_cast<int>(ExitCode::Unsatisfiable);
  return emit(options, *module, *bytes);
}
