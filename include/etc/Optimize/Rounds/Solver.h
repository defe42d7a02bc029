// Solvers of the problem of rounds. The problem must be well formed: check says
// nothing.

#ifndef ETC_OPTIMIZE_ROUNDS_SOLVER_H
#define ETC_OPTIMIZE_ROUNDS_SOLVER_H

#include "etc/Optimize/Rounds/Solution.h"

namespace etc::rounds {

/// List scheduling. Units of one flow (those that touch the same classes in the
/// same way) are spread evenly, so that all flows progress in proportion and
/// memory comes free as fast as it is taken; each round takes what fits, each
/// flow in its own order, so that layers stay together. Where nothing fits, the
/// unit that exceeds a limit the least goes alone: the round is forced, and the
/// peak says by how much. Where units occupy ports, no round takes long because
/// of one port while the others wait.
///
/// Only integers, and of equal choices the lowest unit: the same problem gives
/// the same solution on any machine.
Solution solveList(const Problem &problem);

/// The plain one: the fewest rounds, none of which exceeds a class, by trying
/// every set of units for every round; nothing where there is no such solution.
/// Takes time in 3^units: at most 16 of them.
std::optional<Solution> solveExact(const Problem &problem);

} // namespace etc::rounds

#endif // ETC_OPTIMIZE_ROUNDS_SOLVER_H
