#include "CutRates.h"

#include <algorithm>
#include <map>
#include <set>

namespace etc::routing {

CutRates::CutRates(const Problem &problem,
                   const std::vector<std::vector<int32_t>> &participants)
    : problem(problem), nodes(participants.size()) {
  std::vector<bool> seen(problem.nics.size());
  for (size_t number = 0; number < nodes.size(); ++number) {
    Node &node = nodes[number];
    node.participants = participants[number].size();
    for (int32_t device : participants[number]) {
      const Device &its = problem.devices[device];
      node.links += its.linkRate;
      node.nics += seen[its.nic] ? 0 : problem.nics[its.nic].rate;
      seen[its.nic] = true;
    }
    allNics += node.nics;
    used += node.participants > 0;
  }
}

/// At the other end are the NICs of other nodes, or all if the devices are on
/// several.
int64_t CutRates::nicsOf(const std::vector<int32_t> &devices) const {
  if (used < 2)
    return 0;
  const int32_t node = problem.nodeOf(devices.front());
  int64_t own = 0, other = allNics - nodes[node].nics;
  std::set<int32_t> seen;
  for (int32_t device : devices) {
    const int32_t nic = problem.devices[device].nic;
    if (seen.insert(nic).second)
      own += problem.nics[nic].rate;
    if (problem.nics[nic].node != node)
      other = allNics;
  }
  return std::min(own, other);
}

int64_t CutRates::of(const std::vector<int32_t> &devices) const {
  struct Part {
    size_t devices = 0;
    int64_t links = 0;
  };
  std::map<int32_t, Part> parts; // by node
  for (int32_t device : devices) {
    Part &part = parts[problem.nodeOf(device)];
    ++part.devices;
    part.links += problem.devices[device].linkRate;
  }
  int64_t own = 0, other = 0;
  for (const auto &[number, part] : parts)
    if (const Node &node = nodes[number]; part.devices < node.participants) {
      own += part.links;
      other += node.links - part.links;
    }
  return std::min(own, other) + nicsOf(devices);
}

int64_t CutRates::ofInner(const std::vector<int32_t> &devices) const {
  int64_t links = 0;
  for (int32_t device : devices)
    if (nodes[problem.nodeOf(device)].participants > 1)
      links += problem.devices[device].linkRate;
  return links + nicsOf(devices);
}

} // namespace etc::routing
