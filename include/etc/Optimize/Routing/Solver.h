// Solvers of the routing problem, and a bound that they are measured by.

#ifndef ETC_OPTIMIZE_ROUTING_SOLVER_H
#define ETC_OPTIMIZE_ROUTING_SOLVER_H

#include "etc/Optimize/Routing/Bound.h"
#include "etc/Optimize/Routing/Solution.h"

namespace etc::routing {

/// The slowest of these cuts: into each node and each device; out of the
/// holders of an atom, of each of them alone, and of all that are joined by
/// such sets, each time as devices and as whole nodes; into the devices of a
/// NIC and into and out of a node, with inner devices. No device where nothing
/// has to move.
Cut findBound(const Problem &problem);

/// The slowest of these cuts without inner devices; the slowest such cut in the
/// other direction; and, if one with inner devices is slower, that one: who
/// counts tied copies as the same bytes may find fewer, and of any of these
/// more so than of the others. Empty where nothing has to move.
std::vector<Cut> findBounds(const Problem &problem);

/// Tolls that take at least 1/256 longer than the slowest cut, which is given;
/// empty where none are found. Looks for them in small problems only, and no
/// longer where they take almost as long as some routing does: `most`.
Cut findTolls(const Problem &problem, const Cut &slowest, const Time &most);

/// The first of those that take longest; without devices where there are none.
Cut findSlowest(const std::vector<Cut> &cuts);

/// The times that solvers aim at: of the slowest cut of whole nodes, holders or
/// needers, and, if it is slower, of the slowest that parts of nodes make too.
/// Which of them gives better routes is not known before.
std::vector<Time> findTargets(const Problem &problem);

/// The time of the resource that takes longest for its bytes.
Time findSlowest(const Problem &problem, const Loads &loads);

/// Whether some link is less than four times as fast as some NIC: bytes may as
/// well come from another node then, though more of them enter nodes.
bool hasSlowLinks(const Problem &problem);

/// The plain one: every needer receives an atom whole from its first holder, on
/// its own node where there is one. The problem must be well formed, as for all
/// solvers.
Solution solveFirstHolder(const Problem &problem);

/// The constructive one. Nodes: each node that lacks an atom gets it once, and
/// sends it on where those that hold it would be late. Rails: what enters and
/// leaves a node is striped over the NICs of devices that hold or need it, or
/// with transit of any, as far as the bound asks for it and a maximum flow
/// allows. Links: inside a node everybody passes on what others lack. Where
/// links are slow, what late ones carry is taken to NICs, and the other way
/// round. The plain solution where that has fewer hops and is as fast, but for
/// a slack of 1/256. Only integers; the same problem gives the same solution on
/// any machine.
Solution solveStriped(const Problem &problem);

} // namespace etc::routing

#endif // ETC_OPTIMIZE_ROUTING_SOLVER_H
