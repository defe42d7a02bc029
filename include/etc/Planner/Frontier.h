//===- Frontier.h - What every placement and objective costs ----*- C++ -*-===//

#ifndef ETC_PLANNER_FRONTIER_H
#define ETC_PLANNER_FRONTIER_H

#include "etc/Planner/PlanRequest.h"
#include "etc/Planner/Rates.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace etc {

/// A placement and an objective, and what their plan does.
struct FrontierRow {
  Place place;
  std::string objective;             ///< as requests name it
  std::string refusal;               ///< why there is no plan; else empty
  uint64_t moved = 0, internode = 0; ///< bytes: in all, and between nodes
  uint64_t splitGroups = 0;          ///< tensor-parallel groups over nodes
  uint64_t nodesUsed = 0;
  uint64_t nodesFreed = 0; ///< that held state and take no role
  uint64_t microseconds = 0;
  bool isBest = false; ///< no other row is as good in all, and better in one
};

struct Frontier {
  std::string model, prev, curr; ///< "gpt2", "PP2", "PP4"
  uint64_t prevWorld = 0, currWorld = 0;
  uint64_t groups = 0; ///< tensor-parallel ones
  uint64_t nodes = 0;
  Rates rates;
  std::vector<FrontierRow> rows;
  /// Certified bounds that hold for every row: bytes.
  uint64_t boundMoved = 0, boundInternode = 0;
};

/// Plans the request, which request::checkRequest has passed, under every
/// placement and objective; its own do not matter. Fails with a diagnostic
/// where none has a plan.
mlir::FailureOr<Frontier> findFrontier(mlir::MLIRContext &context,
                                       const request::Request &request,
                                       const PlanOptions &options,
                                       const std::optional<Rates> &rates);

/// A table for people.
void writeFrontier(const Frontier &frontier, llvm::raw_ostream &os);

/// docs/which-nodes.md has the format.
void writeFrontierJson(const Frontier &frontier, llvm::raw_ostream &os);

} // namespace etc

#endif // ETC_PLANNER_FRONTIER_H
