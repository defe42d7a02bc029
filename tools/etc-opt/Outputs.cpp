//===- Outputs.cpp - Files, all of them or none ---------------------------===//

#include "Outputs.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace etc;
using config::ExitCode;

int etc::fail(const llvm::Twine &message, ExitCode code) {
  llvm::errs() << "etc-opt: error: " << message << "\n";
  return static_cast<int>(code);
}

int etc::writeOutputs(llvm::ArrayRef<Output> outputs) {
  llvm::SmallVector<std::unique_ptr<llvm::ToolOutputFile>> files;
  for (const Output &output : outputs) {
    std::string error;
    files.push_back(mlir::openOutputFile(output.name, &error));
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
  for (auto [file, output] : llvm::zip_equal(files, outputs)) {
    file->keep();
    // Where permissions can't be set, `sh FILE` still runs it.
    if (output.executable)
      (void)llvm::sys::fs::setPermissions(
          output.name, static_cast<llvm::sys::fs::perms>(0755));
  }
  return 0;
}
