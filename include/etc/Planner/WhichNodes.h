//===- WhichNodes.h - Which nodes are cheapest to give back -----*- C++ -*-===//

#ifndef ETC_PLANNER_WHICHNODES_H
#define ETC_PLANNER_WHICHNODES_H

#include "etc/Planner/PlanRequest.h"
#include "etc/Planner/Rates.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace etc {

/// What a plan moves: bytes, and microseconds at the rates.
struct PlanCost {
  uint64_t moved = 0, internode = 0, microseconds = 0;
};

/// Nodes that may be given back.
struct NodesAnswer {
  std::vector<int64_t> nodes;
  double alike = 0;    ///< so many sets of nodes are as good by symmetry
  std::string refusal; ///< why there is no plan; else empty
  PlanCost cost;
};

struct WhichNodes {
  int64_t count = 0; ///< of nodes to give back
  std::string place; ///< of the request
  bool totalFirst = false;
  Rates rates;
  bool isComplete = false; ///< whether no choice is better than the best
  int64_t tried = 0;       ///< choices
  /// Nodes that are interchangeable, ascending.
  std::vector<std::vector<int64_t>> classes;
  PlanCost none; ///< with no node given back
  /// Certified bounds that hold for every choice: bytes.
  uint64_t boundMoved = 0, boundInternode = 0;
  /// Each is planned whole; the best first, what has no plan last.
  std::vector<NodesAnswer> best;
};

/// Searches the `count` nodes that are cheapest to give back under the
/// request's placement and objective. request::checkRequest has passed the
/// request; its current configuration has no devices, and `count` is positive.
/// Fails with a diagnostic where there is no plan; `asked` is what the user
/// calls `count`.
mlir::FailureOr<WhichNodes>
findWhichNodes(mlir::MLIRContext &context, const request::Request &request,
               const PlanOptions &options, const std::optional<Rates> &rates,
               int64_t count, llvm::StringRef asked);

/// docs/which-nodes.md has the format.
void writeWhichNodesJson(const WhichNodes &answer, llvm::raw_ostream &os);

} // namespace etc

#endif // ETC_PLANNER_WHICHNODES_H
