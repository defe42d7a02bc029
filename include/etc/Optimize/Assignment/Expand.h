// From classes back to single roles and devices.

#ifndef ETC_OPTIMIZE_ASSIGNMENT_EXPAND_H
#define ETC_OPTIMIZE_ASSIGNMENT_EXPAND_H

#include "etc/Optimize/Assignment/Problem.h"

#include <cstdint>
#include <span>
#include <vector>

namespace etc::assignment {

/// What a role is matched with: member `member` of column class `col`, or
/// none.
struct Match {
  int32_t col = -1;
  int64_t member = -1;

  bool isMade() const { return col >= 0; }
  bool operator==(const Match &) const = default;
};

/// matches[i][d] is the match of replica d of row class i. `flow` [edges] must
/// be feasible: (S1) of Solution.h.
///
/// Replicas are interchangeable and so are members, hence every choice keeps
/// the same bytes. Replica d takes member d of its column where both are free,
/// so that what does not change maps to itself; the others pair up lowest with
/// lowest, edge by edge. Unmatched replicas are those left over, the highest
/// ones unless that rule says otherwise.
std::vector<std::vector<Match>> expand(const Problem &problem,
                                       std::span<const int64_t> flow);

} // namespace etc::assignment

#endif // ETC_OPTIMIZE_ASSIGNMENT_EXPAND_H
