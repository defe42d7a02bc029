// The devices of a set by node.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_NODES_H
#define ETC_LIB_OPTIMIZE_ROUTING_NODES_H

#include "etc/Optimize/Routing/Problem.h"

#include <vector>

namespace etc::routing {

/// What devices of one node have to do with an atom.
struct NodeShare {
  int32_t node;
  std::vector<int32_t> holders, needers;

  bool lacks() const { return holders.empty(); }
};

/// The nodes of an atom's holders and needers, ascending.
std::vector<NodeShare> findNodes(const Problem &problem, const Atom &atom);

/// The devices that take part, by node.
std::vector<std::vector<int32_t>> findParticipants(const Problem &problem);

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_NODES_H
