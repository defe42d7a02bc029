//===- Checks.h - What a verb can be asked for ------------------*- C++ -*-===//

#ifndef ETC_PLANNER_CHECKS_H
#define ETC_PLANNER_CHECKS_H

#include "etc/Planner/Rates.h"
#include "etc/Request/Request.h"

#include "llvm/Support/Error.h"

namespace etc {

/// The frontier and which nodes compare plans of the best policy, and choose
/// devices: whether the request leaves them that.
llvm::Error checkComparable(const request::Request &request);

/// Two stages are the paper's: whether the request asks for its policy.
llvm::Error checkTwoStage(const request::Request &request);

/// Whether rates are in a range that times can be made from.
llvm::Error checkRates(const Rates &rates);

} // namespace etc

#endif // ETC_PLANNER_CHECKS_H
