//===- Version.cpp - What etc-opt was built with --------------------------===//

#include "Version.h"

#include "core/plan/PlanFile.h"
#include "etc-revision.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

#include <flatbuffers/base.h>

void etc::printVersion(llvm::raw_ostream &os) {
  os << "etc-opt " ETC_VERSION " (plan format " << plan::kPlanVersion
     << ", revision " ETC_REVISION ")\n"
     << "LLVM, MLIR   " LLVM_VERSION_STRING "\n"
     << "FlatBuffers  " << FLATBUFFERS_VERSION_MAJOR << "."
     << FLATBUFFERS_VERSION_MINOR << "." << FLATBUFFERS_VERSION_REVISION
     << "\n";
}
