#include "view/report/ResourceTimes.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace etc::runtime;
using etc::plan::PlanIndex;

namespace {
/// Adds messages up by the resources that carry them.
class ResourceLoads {
public:
  ResourceLoads(const PlanIndex &index, const Cluster &cluster, size_t rounds);
  void add(const SimulatedMessage &message, size_t round);
  std::vector<ResourceTime> take();

private:
  /// Whether it is a NIC, its device or node, its number there, whether out.
  using Key = std::tuple<bool, uint32_t, uint32_t, bool>;
  void add(uint32_t rank, bool isBetween, bool isOut, uint64_t bytes,
           size_t round);

  const PlanIndex &index;
  const Cluster &cluster;
  const size_t rounds;
  std::vector<uint32_t> firstOf; ///< [node] its first device
  std::map<Key, ResourceTime> resources;
};
} // namespace

ResourceLoads::ResourceLoads(const PlanIndex &index, const Cluster &cluster,
                             size_t rounds)
    : index(index), cluster(cluster), rounds(rounds), firstOf{0} {
  for (uint32_t size : *index.plan().nodes())
    firstOf.push_back(firstOf.back() + size);
}

void ResourceLoads::add(uint32_t rank, bool isBetween, bool isOut,
                        uint64_t bytes, size_t round) {
  const uint32_t device = index.device(rank), node = index.nodeOf(device),
                 size = firstOf[node + 1] - firstOf[node],
                 nics = std::min(cluster.portsPerNode, size),
                 nic = static_cast<uint32_t>(uint64_t{device - firstOf[node]} *
                                             nics / size);
  ResourceTime &resource = resources[isBetween ? Key(true, node, nic, isOut)
                                               : Key(false, device, 0, isOut)];
  if (resource.rounds.empty()) {
    resource.rounds.resize(rounds);
    resource.rank = rank;
    resource.name =
        (isBetween
             ? "node " + std::to_string(node) + ", NIC " + std::to_string(nic)
             : "device " + std::to_string(device) + ", link") +
        (isOut ? ", out" : ", in");
  }
  const double seconds = static_cast<double>(bytes) /
                         (isBetween ? cluster.portRate : cluster.linkRate);
  resource.bytes += bytes;
  resource.seconds += seconds;
  resource.rounds[round] += seconds;
}

void ResourceLoads::add(const SimulatedMessage &message, size_t round) {
  const bool isBetween = index.nodeOf(index.device(message.from)) !=
                         index.nodeOf(index.device(message.to));
  add(message.from, isBetween, true, message.bytes, round);
  add(message.to, isBetween, false, message.bytes, round);
}

std::vector<ResourceTime> ResourceLoads::take() {
  std::vector<ResourceTime> list;
  for (auto &[key, resource] : resources)
    list.push_back(std::move(resource));
  std::stable_sort(list.begin(), list.end(),
                   [](const ResourceTime &a, const ResourceTime &b) {
                     return a.seconds > b.seconds;
                   });
  return list;
}

std::vector<ResourceTime> etc::runtime::busiestResources(const PlanIndex &index,
                                                         const Workload &work,
                                                         const Cluster &cluster,
                                                         size_t most) {
  ResourceLoads loads(index, cluster, work.messages.size());
  for (size_t round = 0; round != work.messages.size(); ++round)
    for (const SimulatedMessage &message : work.messages[round])
      loads.add(message, round);
  std::vector<ResourceTime> list = loads.take();
  list.resize(std::min(list.size(), most));
  return list;
}
