//===- RequestFuzzer.cpp - Requests in JSON -------------------------------===//
//
// A request is read and checked, and one that passes is imported, its IR
// verified. Configurations stay small: what is slow is no finding.
//
//===----------------------------------------------------------------------===//

#include "etc/Import/Import.h"

#include "mlir/IR/Verifier.h"

#include <cstdlib>

using namespace etc;

static bool isSmall(const request::Request &request) {
  return request.deviceCount() <= 256 && request.model.layers <= 64 &&
         request.model.experts.count <= 64 && !request.prev.inventory;
}

static void import(const request::Request &request) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  mlir::OwningOpRef<mlir::ModuleOp> module = importRequest(context, request);
  if (module && mlir::failed(mlir::verify(*module)))
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::Expected<request::Request> request =
      request::parseRequest(text, "request.json");
  if (!request) {
    consumeError(request.takeError());
  } else if (llvm::Error error = request::checkRequest(*request)) {
    consumeError(std::move(error));
  } else if (isSmall(*request)) {
    import(*request);
  }
  return 0;
}
