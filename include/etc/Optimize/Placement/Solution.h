// A placement: the device of every rank. Verifying it shares no code with
// solving.

#ifndef ETC_OPTIMIZE_PLACEMENT_SOLUTION_H
#define ETC_OPTIMIZE_PLACEMENT_SOLUTION_H

#include "etc/Optimize/Placement/Problem.h"

namespace etc::placement {

/// A valid solution obeys
///
/// (S1) every rank has a usable device, and no device has two;
///
/// (S2) `kept` is what all ranks keep, as Problem::weigh orders it;
///
/// (S3) under Tp and Pack no group is on more nodes than its size takes of the
/// largest node: on one, where that holds it;
///
/// (S4) under Pack no more nodes are in use than the groups take: the fewest
/// that hold them whole, or, where a group exceeds a node, as many as (S3)
/// allows each.
struct Solution {
  std::vector<int64_t> deviceOf; ///< [ranks]
  assignment::Weight kept;

  bool operator==(const Solution &) const = default;
};

/// Checks (S1) to (S4), after check(problem). Says what is broken first, and
/// where; nothing if the solution is valid.
std::optional<std::string> verify(const Problem &problem,
                                  const Solution &solution);

} // namespace etc::placement

#endif // ETC_OPTIMIZE_PLACEMENT_SOLUTION_H
