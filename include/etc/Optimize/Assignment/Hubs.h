// Assignment where groups of rows weigh the same with groups of columns, but
// for some pairs that weigh more: what replicas share goes through hubs,
// and only what tells them apart (ranges of a distributed optimizer) has edges.

#ifndef ETC_OPTIMIZE_ASSIGNMENT_HUBS_H
#define ETC_OPTIMIZE_ASSIGNMENT_HUBS_H

#include "etc/Optimize/Assignment/Solution.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace etc::assignment {

/// The problem that has an edge for every pair of a hub, written down without
/// these edges. The network is row -> its group -> a group of columns ->
/// column, beside the edges row -> column.
///
/// A well-formed problem obeys (P1) to (P5) of Problem.h, in `direct` and in
/// the problem of groups that `hubs` are the edges of, and
///
/// (H1) every row and every column has a group, numbered from 0;
///
/// (H2) an edge weighs at least as much as the hub of its pair.
struct HubProblem {
  Problem direct;
  std::vector<int32_t> rowGroup; ///< [rows]
  std::vector<int32_t> colGroup; ///< [columns]
  /// A role of group `row` on a device of group `col` keeps `weight` bytes.
  std::vector<Edge> hubs;
};

/// Says what is not well formed first; nothing if all is.
std::optional<std::string> check(const HubProblem &problem);

/// An optimal solution. The pairs in use that are no edges of `direct` are
/// edges of `problem`, so that it can be handled like any other.
struct HubSolution {
  Problem problem;
  Solution solution;
};

/// Successive shortest paths over the network, row by row. The problem must be
/// well formed. The same problem gives the same solution on any machine.
HubSolution solve(const HubProblem &problem);

/// An ordinary problem with the edges of `direct` and, for every hub, the pair
/// that its duals cover least: duals cover all pairs where they cover these.
Problem leastCovered(const HubProblem &problem, std::span<const Weight> u,
                     std::span<const Weight> v);

} // namespace etc::assignment

#endif // ETC_OPTIMIZE_ASSIGNMENT_HUBS_H
