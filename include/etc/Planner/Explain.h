//===- Explain.h - What plans do, for people --------------------*- C++ -*-===//

#ifndef ETC_PLANNER_EXPLAIN_H
#define ETC_PLANNER_EXPLAIN_H

#include "etc/Planner/Price.h"

#include "llvm/Support/raw_ostream.h"

namespace etc {

/// A few lines for each plan: its summary and, where there is one, the price of
/// its placement; then what all plans come to, and what the trainer sets for
/// itself.
void writeExplanation(const request::Request &request, PlannedRequest &planned,
                      const std::optional<Price> &price, llvm::raw_ostream &os);

} // namespace etc

#endif // ETC_PLANNER_EXPLAIN_H
