//===- ModuleFuzzer.cpp - Modules of the dialect, as text -----------------===//
//
// What parses and verifies has to print, and parse again.
//
//===----------------------------------------------------------------------===//

#include "dialect/Etc.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <cstdlib>
#include <memory>
#include <string>

using namespace mlir;

/// A context keeps every attribute it has seen: now and then it is made anew.
static MLIRContext &freshContext() {
  static std::unique_ptr<MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % 4096 == 0) {
    context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
    context->loadDialect<etc::EtcDialect>();
  }
  return *context;
}

/// MLIR's lexer reads up to a zero, which ends a string.
static OwningOpRef<ModuleOp> parse(const std::string &text,
                                   MLIRContext &context) {
  return parseSourceString<ModuleOp>(text, &context);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MLIRContext &context = freshContext();
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  const std::string text(reinterpret_cast<const char *>(data), size);
  if (isBytecode(llvm::MemoryBufferRef(text, ""))) // what etc-opt refuses
    return 0;
  OwningOpRef<ModuleOp> module = parse(text, context);
  if (!module)
    return 0;
  std::string printed;
  llvm::raw_string_ostream os(printed);
  module->print(os);
  if (!parse(printed, context))
    std::abort();
  return 0;
}
