// Cuts of parts of nodes.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_FINDPARTS_H
#define ETC_LIB_OPTIMIZE_ROUTING_FINDPARTS_H

#include "FindInner.h"

namespace etc::routing {

/// Cuts that are slower than `best`, each than the one before: into the devices
/// of a node but for those that hold an atom, and out of the devices of a node
/// but for those that need one.
std::vector<Cut> findParts(const Problem &problem, const NodeSets &nodes,
                           const CutRates &rates, const Cut &best);

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_FINDPARTS_H
