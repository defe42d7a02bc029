//===- etc-opt.cpp - The planner ------------------------------------------===//

#include "HugePages.h"
#include "Planner.h"
#include "ShowPlan.h"
#include "Version.h"

#include "etc/Transforms/Passes.h"

#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

/// Whether there is bytecode in the input, be it behind the marks of
/// --split-input-file.
static bool holdsBytecode(llvm::StringRef input) {
  return input.contains("ML\xefR");
}

/// As MlirOptMain() does, but takes bytecode only where it is trusted: what
/// MLIR's reader (LLVM 22) makes of damaged bytecode is bounded neither in
/// memory nor in time.
static mlir::LogicalResult runPasses(const etc::PlannerOptions &options,
                                     int argc, char **argv,
                                     mlir::DialectRegistry &registry) {
  std::string input = options.input.empty() ? "-" : options.input, error;
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::MlirOptMain(argc, argv, input, options.output, registry);
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      mlir::openInputFile(input, &error);
  if (buffer && !options.trustBytecode && holdsBytecode(buffer->getBuffer()))
    error = "this is MLIR bytecode; give IR as text or, if the file is your "
            "own, --trust-bytecode";
  std::unique_ptr<llvm::ToolOutputFile> output;
  if (error.empty())
    output = mlir::openOutputFile(options.output, &error);
  if (!output) {
    llvm::errs() << "etc-opt: error: " << input << ": " << error << "\n";
    return mlir::failure();
  }
  if (failed(
          mlir::MlirOptMain(output->os(), std::move(buffer), registry, config)))
    return mlir::failure();
  output->keep();
  return mlir::success();
}

int main(int argc, char **argv) {
  etc::useHugePages();
  llvm::InitLLVM init(argc, argv);
  llvm::cl::SetVersionPrinter(etc::printVersion);
  mlir::DialectRegistry registry;
  registry.insert<etc::EtcDialect>();
  etc::registerEtcPasses();
  etc::registerEtcPipelines();
  etc::registerPlannerOptions();
  mlir::registerCLIOptions("etc-opt", registry);
  etc::hideForeignOptions();
  if (!llvm::cl::ParseCommandLineOptions(argc, argv, etc::helpOverview,
                                         &llvm::errs()))
    return 2;
  etc::PlannerOptions options = etc::readPlannerOptions();
  if (options.isModule() && options.isRequest()) {
    llvm::errs() << "etc-opt: error: " << options.input
                 << ": options of a request do not apply to IR; give a request "
                    "in JSON, or a --pass-pipeline\n";
    return 2;
  }
  if (options.isPlan())
    return etc::showPlan(options);
  if (options.isRequest())
    return etc::runPlanner(options);
  if (!options.input.empty() && options.input != "-" &&
      !llvm::sys::fs::exists(options.input)) {
    llvm::errs() << "etc-opt: error: " << options.input
                 << ": No such file or directory\n";
    return 2;
  }
  return mlir::asMainReturnCode(runPasses(options, argc, argv, registry));
}
