// The NICs that roles reach: what a node lacks enters through those of its
// devices that take part.

#ifndef ETC_OPTIMIZE_PLACEMENT_NICS_H
#define ETC_OPTIMIZE_PLACEMENT_NICS_H

#include "etc/Optimize/Placement/Entering.h"

namespace etc::placement {

/// Of every node and device, in bytes a second.
struct Rates {
  int64_t nics; ///< of a node; device i of n has NIC i * nics / n
  int64_t nicRate, linkRate;
};

/// What the slowest of these cuts takes, in bytes that one NIC carries
/// meanwhile: into a node, over the NICs of its devices that hold or need
/// state; out of all nodes of a class that alone hold some bytes, over theirs;
/// into a device, over its link and NIC.
int64_t countSlowest(const Problem &problem, const Entering &entering,
                     const Rates &rates, const std::vector<int64_t> &deviceOf);

/// Another placement on the nodes that a solution uses, whose slowest cut is
/// faster by a tenth and a millisecond, with no more bytes that enter nodes and
/// no fewer that devices keep. What keeps nothing on its device moves, first
/// between nodes (tensor-parallel groups as a whole under Tp and Pack), then
/// inside each to devices whose NICs nobody else reaches. Nothing where none is
/// found. A valid solution stays valid. Takes bounded time.
std::optional<Solution> reachMoreNics(const Problem &problem,
                                      const Entering &entering,
                                      const Rates &rates,
                                      const Solution &solution);

/// Whether reachMoreNics may find one: there are several nodes, and on one that
/// a solution uses a device may take a rank whose NIC nobody reaches.
bool mayReachMoreNics(const Problem &problem, const Rates &rates,
                      const Solution &solution);

} // namespace etc::placement

#endif // ETC_OPTIMIZE_PLACEMENT_NICS_H
