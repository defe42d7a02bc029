// A schedule: the round of every unit. Verifying it shares no code with
// solving.

#ifndef ETC_OPTIMIZE_ROUNDS_SOLUTION_H
#define ETC_OPTIMIZE_ROUNDS_SOLUTION_H

#include "etc/Optimize/Rounds/Problem.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etc::rounds {

/// A round *exceeds* a class where it sends more than the class's sendSlab,
/// receives more than its recvSlab, or allocates any while live bytes with both
/// of these slabs, and in a deferred round what is beside them, are above its
/// limit. A round is deferred if its units are.
///
/// A valid solution obeys
///
/// (S1) every unit has a round in [0, rounds), and every round has a unit;
///
/// (S2) a unit's `before` is not in a later round, its `after` is in an earlier
/// one, and one that is deferred in a later one than all that are not;
///
/// (S3) the slabs of a class are the most that a round sends and receives;
///
/// (S4) the peak of a class is the most that is live at once, before the first
/// round included, and both of these slabs;
///
/// (S5) no more rounds exceed a class than are `forced`: where none is, the
/// solution keeps all limits;
///
/// (S6) the tail peak is the most that is live at once in deferred rounds, from
/// the end of the last round before them on, and both slabs; there is none
/// where no unit is deferred;
///
/// (S7) where several units of a round occupy a port, they do so for at most
/// the problem's roundTime together.
struct Solution {
  std::vector<int32_t> roundOf; ///< [units]
  int32_t rounds = 0;
  int32_t forced = 0; ///< rounds for which the solver found nothing that fits
  std::vector<int64_t> sendSlab, recvSlab; ///< [classes]
  std::vector<int64_t> peak;               ///< [classes]
  std::vector<int64_t> tailPeak;           ///< [classes], or empty

  bool operator==(const Solution &) const = default;
};

/// Checks (S1) to (S7), after check(problem). Says what is broken first, and
/// where; nothing if the solution is valid.
std::optional<std::string> verify(const Problem &problem,
                                  const Solution &solution);

} // namespace etc::rounds

#endif // ETC_OPTIMIZE_ROUNDS_SOLUTION_H
