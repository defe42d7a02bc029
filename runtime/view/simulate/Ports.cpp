#include "view/simulate/Ports.h"

#include <algorithm>

using namespace etc::runtime;

/// More ports than devices are one for each.
static uint32_t portsOf(const Cluster &cluster, uint32_t devices) {
  return std::min(cluster.portsPerNode, devices);
}

Ports::Ports(const plan::PlanIndex &index, const Cluster &cluster,
             Network &network)
    : cluster(cluster) {
  const auto &nodes = *index.plan().nodes();
  std::vector<uint32_t> firstPort, firstDevice{0};
  for (uint32_t count : nodes) {
    firstDevice.push_back(firstDevice.back() + count);
    for (uint32_t i = 0; i != portsOf(cluster, count); ++i) {
      const uint32_t out = network.addPort(cluster.portRate);
      const uint32_t in = network.addPort(cluster.portRate);
      network.pair(out, in, cluster.acknowledgementShare);
      if (i == 0)
        firstPort.push_back(out);
    }
  }
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    const uint32_t node = index.nodeOf(index.device(rank));
    const uint32_t size = nodes.Get(node);
    const uint64_t local = index.device(rank) - firstDevice[node];
    auto port = static_cast<uint32_t>(local * portsOf(cluster, size) / size);
    const uint32_t out = firstPort[node] + 2 * port;
    const uint32_t linkOut = network.addPort(cluster.linkRate);
    const uint32_t linkIn = network.addPort(cluster.linkRate);
    devices.push_back({node, linkOut, linkIn, out, out + 1});
  }
}

Route Ports::route(uint32_t fromRank, uint32_t toRank) const {
  const Device &from = devices[fromRank], &to = devices[toRank];
  if (from.node == to.node)
    return {from.linkOut, to.linkIn, cluster.linkLatency, false};
  return {from.portOut, to.portIn, cluster.portLatency, true};
}
