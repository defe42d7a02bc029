// A solution of the assignment problem, with the proof that none is better.
// Verifying it shares no code with solving.

#ifndef ETC_OPTIMIZE_ASSIGNMENT_SOLUTION_H
#define ETC_OPTIMIZE_ASSIGNMENT_SOLUTION_H

#include "etc/Optimize/Assignment/Problem.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace etc::assignment {

/// A valid solution obeys
///
/// (S1) flow >= 0; out of row i goes at most supply[i], into column j at most
/// capacity[j];
///
/// (S2) total = sum of flow[e] * weight[e];
///
/// (S3) u, v >= 0 (lexicographically);
///
/// (S4) u[i] + v[j] >= weight of every edge (i, j);
///
/// (S5) total = sum of supply[i] * u[i] + sum of capacity[j] * v[j].
///
/// (S3) and (S4) make the right side of (S5) an upper bound on the weight of
/// any flow; (S5) says that it is reached.
struct Solution {
  /// [edges] How many roles of the edge's row are matched with its column.
  std::vector<int64_t> flow;
  Weight total;
  /// [rows] Dual of the supply; positive only where the row is fully matched.
  std::vector<Weight> u;
  /// [columns] Dual of the capacity; positive only where the column is full.
  std::vector<Weight> v;
};

/// Checks (S1) to (S5), after check(problem). Says what is broken first, and
/// where; nothing if the solution is feasible and optimal.
std::optional<std::string> verify(const Problem &problem,
                                  const Solution &solution);

/// Checks (S3) to (S5) alone: whoever keeps `total` by whatever assignment
/// keeps the most there is.
std::optional<std::string> verifyCertificate(const Problem &problem,
                                             Weight total,
                                             std::span<const Weight> u,
                                             std::span<const Weight> v);

} // namespace etc::assignment

#endif // ETC_OPTIMIZE_ASSIGNMENT_SOLUTION_H
