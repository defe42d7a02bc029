// List scheduling, for searches that make many schedules.

#ifndef ETC_LIB_OPTIMIZE_ROUNDS_LIST_H
#define ETC_LIB_OPTIMIZE_ROUNDS_LIST_H

#include "Flows.h"
#include "etc/Optimize/Rounds/Solver.h"

#include <cstdint>
#include <limits>
#include <span>

namespace etc::rounds {

/// Whether rounds may be forced, and for which schedules it is of no use: those
/// of more rounds, or with a class whose peak is above these, if there are any.
struct Force {
  bool isAllowed;
  int32_t mostRounds = std::numeric_limits<int32_t>::max();
  std::span<const int64_t> mostPeaks = {}; ///< [classes], or empty
};

/// As solveList, with the flows of the problem; or nothing as soon as a round
/// is forced in vain, before the many that follow.
std::optional<Solution> schedule(const Problem &problem, const UnitFlows &flows,
                                 const Force &force);

} // namespace etc::rounds

#endif // ETC_LIB_OPTIMIZE_ROUNDS_LIST_H
