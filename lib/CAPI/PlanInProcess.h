//===- PlanInProcess.h - From a request to a plan, in a library -----------===//

#ifndef ETC_LIB_CAPI_PLANINPROCESS_H
#define ETC_LIB_CAPI_PLANINPROCESS_H

#include "etc-c/run.h"

#include <cstdint>
#include <string>
#include <vector>

namespace etc {

/// A plan file's bytes, or what is wrong with the request.
struct PlanOutcome {
  std::vector<uint8_t> bytes;
  etc_error_kind kind = ETC_ERROR_USAGE;
  std::string error; ///< one line; empty where there are bytes
};

/// Plans a request in JSON. It prints nothing and keeps nothing.
PlanOutcome planInProcess(const std::string &request, bool totalFirst);

} // namespace etc

#endif // ETC_LIB_CAPI_PLANINPROCESS_H
