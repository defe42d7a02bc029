// The assignment problem as passes pose it: rows in groups and columns in
// groups, where some pairs weigh more than their groups do.

#ifndef ETC_OPTIMIZE_ASSIGNMENT_GROUPED_H
#define ETC_OPTIMIZE_ASSIGNMENT_GROUPED_H

#include "etc/Optimize/Assignment/Hubs.h"

#include <map>
#include <utility>

namespace etc::assignment {

/// Solved through hubs, or with edges alone where every class is a group of
/// its own.
class GroupedProblem {
public:
  using Weights = std::map<std::pair<int32_t, int32_t>, Weight>;

  std::vector<int64_t> supply;   ///< [rows]
  std::vector<int64_t> capacity; ///< [columns]
  std::vector<int32_t> rowGroup; ///< [rows]
  std::vector<int32_t> colGroup; ///< [columns]
  /// By group of rows and group of columns, and by row and column. A pair that
  /// is not listed weighs what its groups do; one that is, at least as much.
  Weights groups, pairs;

  /// Says what is not well formed first; nothing if all is.
  std::optional<std::string> check() const;
  /// An optimal solution. The problem must be well formed.
  HubSolution solve() const;
  size_t getEdges() const { return groups.size() + pairs.size(); }

private:
  HubProblem toHubs() const;
  std::optional<Problem> toPlain() const;
};

} // namespace etc::assignment

#endif // ETC_OPTIMIZE_ASSIGNMENT_GROUPED_H
