// What a cluster can do, as far as a migration is concerned.

#ifndef ETC_RUNTIME_VIEW_SIMULATE_CLUSTER_H
#define ETC_RUNTIME_VIEW_SIMULATE_CLUSTER_H

#include "core/plan/Status.h"
#include "core/plan/plan_generated.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etc::runtime {

/// Rates are bytes a second, of each direction.
struct Cluster {
  std::string name;
  /// Between devices of one node: what each device can send, and receive.
  double linkRate = 0;
  double linkLatency = 0; // seconds until the first byte arrives
  /// Between nodes: what each network port of a node can send, and receive.
  /// Devices of a node share its ports evenly, neighbours the same one.
  uint32_t portsPerNode = 1;
  double portRate = 0;
  double portLatency = 0;
  /// What packs and unpacks strided pieces, and copies what a device keeps:
  /// bytes written a second.
  double packRate = 0;
  /// What acknowledgements take of a port's way back, for each byte that
  /// arrives.
  double acknowledgementShare = 0;
};

/// The names of the clusters that are shipped, "h100" among them, ascending.
std::vector<std::string> shippedClusters();

/// A shipped cluster by its name, or the description in JSON that is in the
/// file of that path; docs/cluster-format.md defines its fields. The error
/// names file and field.
plan::Result<Cluster> readCluster(const std::string &nameOrPath);

/// What a plan states of its cluster.
Cluster clusterOf(const plan::fb::Resources &resources);
/// Whether its links and ports have this cluster's numbers and rates, so that
/// the plan's bounds of time hold there.
bool hasPortsOf(const plan::fb::Resources &resources, const Cluster &cluster);
/// Whether that is this cluster, name and rates, as exactly as plans state
/// them.
bool isOf(const plan::fb::Resources &resources, const Cluster &cluster);

/// The cluster that a description in JSON says. Errors begin with `place`.
plan::Result<Cluster> parseCluster(std::string_view text,
                                   const std::string &place);

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_SIMULATE_CLUSTER_H
