// The best of all placements, one by one.

#include "etc/Optimize/Placement/Solver.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace etc::placement {
namespace {

class Search {
public:
  explicit Search(const Problem &problem) : problem(problem) {
    std::vector<int64_t> usable(problem.nodeClass.size());
    for (const Device &device : problem.devices)
      usable[size_t(device.node)] += device.status == Status::Usable;
    std::sort(usable.rbegin(), usable.rend());
    room = std::move(usable);
    current.deviceOf.resize(size_t(problem.getRanks()));
    isTaken.resize(problem.devices.size());
  }
  std::optional<Solution> run() {
    tryRank(0);
    return std::move(best);
  }

private:
  void tryRank(size_t number);
  bool isAllowed() const;
  size_t mostNodes(size_t parts) const;

  const Problem &problem;
  std::vector<int64_t> room; ///< usable devices of each node, most first
  std::vector<bool> isTaken; ///< [devices]
  Solution current;
  std::optional<Solution> best;
};

/// Every device for the rank that `groups` lists there, and for all after it.
void Search::tryRank(size_t number) {
  if (number == problem.groups.size()) {
    if ((!best || current.kept > best->kept) && isAllowed())
      best = current;
    return;
  }
  const int64_t rank = problem.groups[number], role = rank / problem.replicas;
  for (size_t i = 0; i < problem.devices.size(); ++i) {
    const Device &device = problem.devices[i];
    if (isTaken[i] || device.status != Status::Usable)
      continue;
    const assignment::Weight kept = problem.weigh(
        problem.onNode.at(role, problem.nodeClass[size_t(device.node)]),
        device.prevRole < 0 ? 0 : problem.onDevice.at(role, device.prevRole));
    isTaken[i] = true;
    current.deviceOf[size_t(rank)] = int64_t(i);
    current.kept += kept;
    tryRank(number + 1);
    current.kept -= kept;
    isTaken[i] = false;
  }
}

/// How many nodes Pack allows where a group takes `parts` of them.
size_t Search::mostNodes(size_t parts) const {
  int64_t left = problem.getGroups();
  if (parts > 1)
    return size_t(left) * parts;
  size_t nodes = 0;
  while (left > 0 && nodes < room.size())
    left -= room[nodes++] / problem.groupSize;
  return nodes;
}

bool Search::isAllowed() const {
  if (problem.policy == Policy::Any)
    return true;
  const auto parts =
      size_t((problem.groupSize + room.front() - 1) / room.front());
  std::set<int32_t> used, ofGroup;
  for (size_t i = 0; i < problem.groups.size(); ++i) {
    if (i % size_t(problem.groupSize) == 0)
      ofGroup.clear();
    const int64_t device = current.deviceOf[size_t(problem.groups[i])];
    ofGroup.insert(problem.devices[size_t(device)].node);
    used.insert(problem.devices[size_t(device)].node);
    if (ofGroup.size() > parts)
      return false;
  }
  return problem.policy == Policy::Tp || used.size() <= mostNodes(parts);
}

} // namespace

std::optional<Solution> solveExact(const Problem &problem) {
  assert(problem.devices.size() <= 8 && "takes time in devices!");
  return Search(problem).run();
}

} // namespace etc::placement
