// Cuts with inner devices.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_FINDINNER_H
#define ETC_LIB_OPTIMIZE_ROUTING_FINDINNER_H

#include "CutRates.h"
#include "etc/Optimize/Routing/Bound.h"

namespace etc::routing {

/// What atoms have to do with nodes.
struct NodeSets {
  std::vector<std::vector<int32_t>> participants; ///< [node] devices
  std::vector<std::vector<int32_t>> holders;      ///< [atom] nodes
  std::vector<std::vector<int32_t>> needers;      ///< [atom] nodes
};

/// The slowest of these cuts and of `best`: into the devices of a NIC that lack
/// most for their links, or of all NICs of a node, all inner; out of holders,
/// all inner; into a node, and out of it, with inner devices that are left when
/// those that add least are taken off one by one.
Cut findInner(const Problem &problem, const NodeSets &nodes,
              const CutRates &rates, Cut best);

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_FINDINNER_H
