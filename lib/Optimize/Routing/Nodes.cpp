#include "Nodes.h"

#include <map>

namespace etc::routing {

std::vector<NodeShare> findNodes(const Problem &problem, const Atom &atom) {
  std::map<int32_t, NodeShare> nodes;
  auto find = [&](int32_t device) -> NodeShare & {
    const int32_t node = problem.nodeOf(device);
    return nodes.try_emplace(node, NodeShare{node, {}, {}}).first->second;
  };
  for (int32_t device : problem.holdersOf(atom))
    find(device).holders.push_back(device);
  for (int32_t device : problem.needersOf(atom))
    find(device).needers.push_back(device);
  std::vector<NodeShare> list;
  list.reserve(nodes.size());
  for (auto &[node, share] : nodes)
    list.push_back(std::move(share));
  return list;
}

std::vector<std::vector<int32_t>> findParticipants(const Problem &problem) {
  std::vector<std::vector<int32_t>> byNode(problem.nodes());
  for (size_t device = 0; device < problem.devices.size(); ++device)
    if (problem.takesPart(int32_t(device)))
      byNode[problem.nodeOf(int32_t(device))].push_back(int32_t(device));
  return byNode;
}

} // namespace etc::routing
