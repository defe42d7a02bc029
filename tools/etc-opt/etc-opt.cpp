//===- etc-opt.cpp - The planner ------------------------------------------===//

#include "Planner.h"

#include "etc/Transforms/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
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
  if (options.isRequest())
    return etc::runPlanner(options);
  std::string input = options.input.empty() ? "-" : options.input;
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, options.output, registry));
}
