//===- etc-opt.cpp - The planner ------------------------------------------===//

#include "HugePages.h"
#include "Input.h"
#include "Outputs.h"
#include "Planner.h"
#include "ShowPlan.h"
#include "Version.h"

#include "etc/Export/SummaryWords.h"
#include "etc/Request/Fields.h"
#include "etc/Transforms/Passes.h"
#include "etc/Verify/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

#include <csignal>

/// Whether there is bytecode in the input, be it behind the marks of
/// --split-input-file.
static bool holdsBytecode(llvm::StringRef input) {
  return input.contains("ML\xefR");
}

/// Of IR, as text or as bytecode.
constexpr uint64_t mostModuleBytes = uint64_t(1) << 31;

/// The text that MLIR's reader may have; nothing, once said why, where it may
/// not. What that reader (LLVM 22) makes of deep nesting and of damaged
/// bytecode is bounded neither in memory nor in time.
static std::unique_ptr<llvm::MemoryBuffer> readModule(const std::string &name,
                                                      bool trustBytecode) {
  etc::plan::Result<std::string> text = etc::readInput(name, mostModuleBytes);
  if (!text) {
    llvm::errs() << "etc-opt: error: " << text.status().message() << "\n";
    return nullptr;
  }
  if (holdsBytecode(*text)) {
    if (trustBytecode)
      return llvm::MemoryBuffer::getMemBufferCopy(*text, name);
    llvm::errs() << "etc-opt: error: " << name
                 << ": this is MLIR bytecode; give IR as text or, if the file "
                    "is your own, --trust-bytecode\n";
    return nullptr;
  }
  if (std::optional<std::string> deep = etc::findDeepNesting(*text)) {
    llvm::errs() << name << ":" << *deep << "\n";
    return nullptr;
  }
  return llvm::MemoryBuffer::getMemBufferCopy(*text, name);
}

/// As MlirOptMain() does, on input and to output that are guarded.
static int runPasses(const etc::PlannerOptions &options, int argc, char **argv,
                     mlir::DialectRegistry &registry) {
  std::string input = options.input.empty() ? "-" : options.input;
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, options.output, registry));
  std::unique_ptr<llvm::MemoryBuffer> module =
      readModule(input, options.trustBytecode);
  if (!module)
    return static_cast<int>(etc::request::ExitCode::Malformed);
  std::string text;
  llvm::raw_string_ostream os(text);
  mlir::LogicalResult result =
      mlir::MlirOptMain(os, std::move(module), registry, config);
  // Of a file that is split, what passed is shown beside what failed.
  if (failed(result) && options.output != "-")
    return EXIT_FAILURE;
  int status = etc::writeOutputs(
      etc::Output{options.output, [&](llvm::raw_ostream &to) { to << text; }});
  return failed(result) ? EXIT_FAILURE : status;
}

int main(int argc, char **argv) {
  etc::useHugePages();
  llvm::InitLLVM init(argc, argv);
  // A limit of files' sizes is an error of writing, not the end.
  std::signal(SIGXFSZ, SIG_IGN);
  llvm::cl::SetVersionPrinter(etc::printVersion);
  mlir::DialectRegistry registry;
  registry.insert<etc::EtcDialect>();
  // --canonicalize, --cse, --symbol-dce, --print-op-stats and the like.
  mlir::registerTransformsPasses();
  etc::registerEtcPasses();
  etc::registerEtcVerifyPasses();
  etc::registerEtcPipelines();
  etc::registerPlannerOptions();
  mlir::registerCLIOptions("etc-opt", registry);
  etc::hideForeignOptions();
  if (!llvm::cl::ParseCommandLineOptions(argc, argv, etc::helpOverview,
                                         &llvm::errs()))
    return 2;
  if (std::optional<llvm::StringRef> name = etc::findRepeatedOption())
    return etc::fail((name->size() == 1 ? "-" : "--") + *name +
                         ": is given twice; give it once",
                     etc::request::ExitCode::Malformed);
  etc::PlannerOptions options = etc::readPlannerOptions();
  if (options.explain) {
    etc::writeSummaryWords(llvm::outs());
    return 0;
  }
  if (options.requestFields) {
    etc::request::writeRequestFields(llvm::outs());
    return 0;
  }
  if (options.isPlan())
    return etc::showPlan(options);
  if (options.isModule() && options.isRequest()) {
    llvm::errs() << "etc-opt: error: " << options.input
                 << ": options of a request do not apply to IR; give a request "
                    "in JSON, or a --pass-pipeline\n";
    return 2;
  }
  if (options.isRequest())
    return etc::runPlanner(options);
  return runPasses(options, argc, argv, registry);
}
