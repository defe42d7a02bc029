//===- Outputs.h - Files, all of them or none -----------------------------===//

#ifndef ETC_TOOLS_ETCOPT_OUTPUTS_H
#define ETC_TOOLS_ETCOPT_OUTPUTS_H

#include "etc/Request/Diagnostic.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <string>

namespace etc {

/// Says what is wrong, in one line; returns the exit status.
int fail(const llvm::Twine &message, request::ExitCode code);

/// What goes into one file; "-" is stdout.
struct Output {
  std::string name;
  std::function<void(llvm::raw_ostream &)> write;
  bool executable = false;
};

/// m.2.etcplan of m.etcplan.
std::string numberedOutput(llvm::StringRef output, uint64_t number);

/// Writes all of the outputs or none of them: each beside its name, which it
/// takes once all are written. Standard output and devices are written as they
/// are; a FIFO is refused. Returns the exit status.
int writeOutputs(llvm::ArrayRef<Output> outputs);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_OUTPUTS_H
