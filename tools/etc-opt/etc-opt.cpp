//===- etc-opt.cpp - The planner ------------------------------------------===//

#include "Planner.h"
#include "Version.h"

#include "etc/Transforms/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"

int main(int argc, char **argv) {
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
  if (options.isRequest())
    return etc::runPlanner(options);
  if (!options.input.empty() && options.input != "-" &&
      !llvm::sys::fs::exists(options.input)) {
    llvm::errs() << "etc-opt: error: " << options.input
                 << ": No such file or directory\n";
    return 2;
  }
  std::string input = options.input.empty() ? "-" : options.input;
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, options.output, registry));
}
