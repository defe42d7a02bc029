// Which ports of a cluster the messages of a plan go through.

#ifndef ETC_RUNTIME_VIEW_SIMULATE_PORTS_H
#define ETC_RUNTIME_VIEW_SIMULATE_PORTS_H

#include "core/plan/PlanIndex.h"
#include "view/simulate/Cluster.h"
#include "view/simulate/Network.h"

#include <vector>

namespace etc::runtime {

/// The ports of one message, and what it waits at first.
struct Route {
  uint32_t from, to;
  double latency;
  bool crossesNodes;
};

class Ports {
public:
  /// Adds every port of the plan's devices and nodes to a network.
  Ports(const plan::PlanIndex &index, const Cluster &cluster, Network &network);

  Route route(uint32_t fromRank, uint32_t toRank) const;

private:
  struct Device {
    uint32_t node;
    uint32_t linkOut, linkIn; // inside the node
    uint32_t portOut, portIn; // to other nodes
  };

  const Cluster &cluster;
  std::vector<Device> devices; // by rank
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_SIMULATE_PORTS_H
