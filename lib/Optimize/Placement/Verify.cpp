// The constraints (S1) to (S4) of a solution. Nothing here knows how a solution
// is found.

#include "../Message.h"
#include "etc/Optimize/Placement/Solution.h"

#include <algorithm>
#include <set>

namespace etc::placement {

using optimize::at;
using optimize::Message;
using optimize::text;

namespace {

Message checkDevices(const Problem &problem, const Solution &solution) {
  if (int64_t(solution.deviceOf.size()) != problem.getRanks())
    return text("deviceOf: expected ", problem.getRanks(), " ranks, got ",
                solution.deviceOf.size());
  std::vector<bool> isTaken(problem.devices.size());
  for (size_t rank = 0; rank < solution.deviceOf.size(); ++rank) {
    const int64_t device = solution.deviceOf[rank];
    const std::string place = at("deviceOf", rank);
    if (device < 0 || size_t(device) >= problem.devices.size())
      return text(place, ": ", device, " is not in [0, ",
                  problem.devices.size(), ")");
    if (problem.devices[size_t(device)].status != Status::Usable)
      return text(place, ": device ", device, " takes no rank");
    if (isTaken[size_t(device)])
      return text(place, ": device ", device, " has two ranks");
    isTaken[size_t(device)] = true;
  }
  return std::nullopt;
}

Message checkKept(const Problem &problem, const Solution &solution) {
  int64_t devices = 0, nodes = 0;
  for (size_t rank = 0; rank < solution.deviceOf.size(); ++rank) {
    const Device &device = problem.devices[size_t(solution.deviceOf[rank])];
    const int64_t role = int64_t(rank) / problem.replicas;
    if (device.prevRole != -1)
      devices += problem.onDevice.at(role, device.prevRole);
    nodes += problem.onNode.at(role, problem.nodeClass[size_t(device.node)]);
  }
  const int64_t first = problem.isTotalFirst ? devices : nodes,
                second = problem.isTotalFirst ? nodes : devices;
  if (solution.kept.node != first || solution.kept.device != second)
    return text("kept: expected (", first, ", ", second, "), got (",
                solution.kept.node, ", ", solution.kept.device, ")");
  return std::nullopt;
}

/// How many devices of every node take ranks, most first.
std::vector<int64_t> countUsable(const Problem &problem) {
  std::vector<int64_t> usable(problem.nodeClass.size());
  for (const Device &device : problem.devices)
    if (device.status == Status::Usable)
      ++usable[size_t(device.node)];
  std::sort(usable.rbegin(), usable.rend());
  return usable;
}

/// The fewest nodes that hold all groups, none of which is split.
size_t fewestFor(const Problem &problem, const std::vector<int64_t> &usable) {
  size_t nodes = 0;
  for (int64_t room = 0;
       room * problem.groupSize < problem.getRanks() && nodes < usable.size();
       ++nodes)
    room += usable[nodes] / problem.groupSize;
  return nodes;
}

Message checkGroups(const Problem &problem, const Solution &solution) {
  const std::vector<int64_t> usable = countUsable(problem);
  const auto size = size_t(problem.groupSize),
             parts =
                 (size + size_t(usable.front()) - 1) / size_t(usable.front());
  std::set<int32_t> used;
  for (size_t begin = 0; begin < problem.groups.size(); begin += size) {
    std::set<int32_t> nodes;
    for (size_t i = begin; i < begin + size; ++i) {
      const auto rank = size_t(problem.groups[i]);
      nodes.insert(problem.devices[size_t(solution.deviceOf[rank])].node);
    }
    if (nodes.size() > parts)
      return text(at("groups", begin / size), ": is on ", nodes.size(),
                  " nodes, expected at most ", parts);
    used.insert(nodes.begin(), nodes.end());
  }
  const size_t fewest = parts > 1 ? problem.groups.size() / size * parts
                                  : fewestFor(problem, usable);
  if (problem.policy == Policy::Pack && used.size() > fewest)
    return text("deviceOf: ", used.size(), " nodes are in use, expected ",
                fewest);
  return std::nullopt;
}

} // namespace

std::optional<std::string> verify(const Problem &problem,
                                  const Solution &solution) {
  if (Message error = check(problem))
    return error;
  if (Message error = checkDevices(problem, solution))
    return error;
  if (Message error = checkKept(problem, solution))
    return error;
  if (problem.policy == Policy::Any)
    return std::nullopt;
  return checkGroups(problem, solution);
}

} // namespace etc::placement
