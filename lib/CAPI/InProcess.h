//===- InProcess.h - The planner's verbs on requests in memory ------------===//
//
// The C API's functions catch exceptions, MLIR has none: what stands between
// them is plain.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_CAPI_INPROCESS_H
#define ETC_LIB_CAPI_INPROCESS_H

#include "etc-c/run.h"
#include "etc/Planner/Rates.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etc {

/// What a verb answers, or what is wrong with the request.
struct Answer {
  std::string text; ///< a plan file's bytes, JSON, or lines for people
  etc_error_kind kind = ETC_ERROR_USAGE;
  std::string error; ///< one line; empty where there is an answer
};

/// What to assume, beside the request.
struct AskOptions {
  std::optional<Rates> rates;
};

/// Each takes a request in JSON. They print nothing and keep nothing.
Answer askPlan(const std::string &request, const AskOptions &options);
/// Of requests that follow each other, one at least; `journal` is that of the
/// first.
Answer askChain(const std::vector<std::string> &requests,
                const AskOptions &options,
                const std::optional<std::string> &journal);
/// The first plan is the answer, the second one goes to `second`.
Answer askTwoStage(const std::string &request, const AskOptions &options,
                   std::string &second);
Answer askExplanation(const std::string &request, const AskOptions &options);
Answer askPrice(const std::string &request, const AskOptions &options);
Answer askFrontier(const std::string &request, const AskOptions &options);
Answer askWhichNodes(const std::string &request, const AskOptions &options,
                     int64_t count);

/// Of a plan. Without names, nodes are node0, node1 and so on.
Answer askRanks(const plan::fb::Plan &plan, std::vector<std::string> hosts);
Answer askReport(const plan::fb::Plan &plan, const AskOptions &options);

} // namespace etc

#endif // ETC_LIB_CAPI_INPROCESS_H
