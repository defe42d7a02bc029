// The pooled assignment of roles to devices, as a transportation problem over
// classes. docs/assignment.md gives the model and the reasons.

#ifndef ETC_OPTIMIZE_ASSIGNMENT_PROBLEM_H
#define ETC_OPTIMIZE_ASSIGNMENT_PROBLEM_H

#include "etc/Optimize/Assignment/Weight.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etc::assignment {

/// A role of class `row` on a device of class `col` keeps `weight`
/// bytes.
struct Edge {
  int32_t row;
  int32_t col;
  Weight weight;

  bool operator==(const Edge &) const = default;
};

/// Maximise the total weight of a flow that takes at most supply[i] units out
/// of row i and puts at most capacity[j] units into column j. What stays
/// unmatched weighs nothing.
///
/// A well-formed problem obeys
///
/// (P1) supplies and capacities are >= 0, and their sums fit into int64;
///
/// (P2) every edge joins an existing row and an existing column;
///
/// (P3) every weight is greater than zero (lexicographically);
///
/// (P4) edges are strictly ascending by (row, col): one edge a pair;
///
/// (P5) int64 arithmetic is exact: rows + columns <= 2^31 - 1;
/// (rows + columns + 1) * |w| <= 2^61 for each component w of a weight;
/// the sum of supply[i] * (the largest |w| of row i) is <= 2^63 - 1.
struct Problem {
  /// [rows] How many identical roles each row class has.
  std::vector<int64_t> supply;
  /// [columns] How many identical devices each column class has.
  std::vector<int64_t> capacity;
  std::vector<Edge> edges;

  bool operator==(const Problem &) const = default;
};

/// Says which of (P1) to (P5) the problem breaks first, and where; nothing if
/// it is well formed.
std::optional<std::string> check(const Problem &problem);

} // namespace etc::assignment

#endif // ETC_OPTIMIZE_ASSIGNMENT_PROBLEM_H
