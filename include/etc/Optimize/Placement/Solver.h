// Solvers of the problem of placement. The problem must be well formed: check
// says nothing.

#ifndef ETC_OPTIMIZE_PLACEMENT_SOLVER_H
#define ETC_OPTIMIZE_PLACEMENT_SOLVER_H

#include "etc/Optimize/Placement/Solution.h"

namespace etc::placement {

/// Under Any, one assignment over classes of devices: the most is kept. Under
/// Tp and Pack ranks are cut into colocation groups, and these assigned to
/// nodes; given the cut that is exact too, and of several cuts the best is
/// taken. Nothing where there are fewer usable devices than ranks, or where no
/// cut fits the nodes.
///
/// Only integers, and of equal choices the lowest: the same problem gives the
/// same solution on any machine.
std::optional<Solution> solve(const Problem &problem);

/// The plain one: the most that is kept, by trying every device for every rank;
/// nothing where no placement meets the policy. Takes time in devices! /
/// (devices - ranks)!: at most 8 devices.
std::optional<Solution> solveExact(const Problem &problem);

/// How tensor-parallel groups fit the nodes, for those whom `solve` gives
/// nothing.
struct Fit {
  bool isWithinNode; ///< whether a node is as large as a group
  int64_t fitting;   ///< groups that find a node which holds them
};
Fit fitGroups(const Problem &problem);

} // namespace etc::placement

#endif // ETC_OPTIMIZE_PLACEMENT_SOLVER_H
