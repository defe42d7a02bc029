// One assignment over all devices.

#include "Instance.h"
#include "etc/Optimize/Assignment/Expand.h"
#include "etc/Optimize/Assignment/Grouped.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

namespace etc::placement {

using assignment::GroupedProblem;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// Devices that benefit every role the same: the same node class and the same
/// previous role.
using Columns = std::map<std::pair<int64_t, int64_t>, SmallVector<int64_t>>;

Columns findColumns(const Instance &instance) {
  Columns columns;
  for (const Candidate &candidate : instance.devices)
    columns[{instance.problem.nodeClass[size_t(candidate.node)],
             candidate.prevRole}]
        .push_back(candidate.device);
  return columns;
}

/// Columns are a group where their node classes and their previous roles are.
GroupedProblem poseAnywhere(const Problem &problem, const Columns &columns) {
  const BenefitTable &onNode = problem.onNode, &onDevice = problem.onDevice;
  GroupedProblem result;
  result.supply.assign(size_t(problem.getRoles()), problem.replicas);
  for (int64_t role = 0; role < problem.getRoles(); ++role)
    result.rowGroup.push_back(onNode.getRowGroup(role));
  std::map<std::pair<int32_t, int32_t>, int32_t> groups;
  std::map<int64_t, SmallVector<std::pair<int32_t, int64_t>>> ofClass;
  for (const auto &[key, members] : columns) {
    auto [nodeClass, prevRole] = key;
    ofClass[nodeClass].push_back({int32_t(result.capacity.size()), prevRole});
    result.capacity.push_back(int64_t(members.size()));
    const std::pair<int32_t, int32_t> group(
        onNode.getColumnGroup(nodeClass),
        prevRole < 0 ? -1 : onDevice.getColumnGroup(prevRole));
    result.colGroup.push_back(
        groups.try_emplace(group, int32_t(groups.size())).first->second);
  }
  for (auto [key, column] : groups)
    for (int32_t row = 0; row < onNode.getRowGroups(); ++row)
      result.groups[{row, column}] = problem.weigh(
          onNode.atGroups(row, key.first),
          key.second < 0 ? 0 : onDevice.atGroups(row, key.second));
  // A span that a device has, its node has.
  for (int32_t role = 0; role < problem.getRoles(); ++role)
    for (auto [nodeClass, more] : onNode.getPairs(role))
      for (auto [column, prevRole] : ofClass[nodeClass])
        result.pairs[{role, column}] =
            problem.weigh(onNode.at(role, nodeClass),
                          prevRole < 0 ? 0 : onDevice.at(role, prevRole));
  return result;
}

/// Ranks that keep nothing anywhere take the lowest devices that are left.
void fillRest(const Instance &instance, std::vector<int64_t> &deviceOf) {
  llvm::BitVector taken(unsigned(instance.problem.devices.size()));
  for (int64_t device : deviceOf)
    if (device >= 0)
      taken.set(unsigned(device));
  auto next = instance.devices.begin();
  for (int64_t &device : deviceOf) {
    if (device >= 0)
      continue;
    while (taken.test(unsigned(next->device)))
      ++next;
    device = next++->device;
  }
}

} // namespace

Solution placeAnywhere(const Instance &instance) {
  const Columns columns = findColumns(instance);
  SmallVector<ArrayRef<int64_t>> members;
  for (const auto &[key, list] : columns)
    members.push_back(list);
  auto [classes, assigned] = poseAnywhere(instance.problem, columns).solve();
  Solution solution{{}, assigned.total};
  for (const auto &replicas : assignment::expand(classes, assigned.flow))
    for (const assignment::Match &match : replicas)
      solution.deviceOf.push_back(
          match.isMade() ? members[size_t(match.col)][size_t(match.member)]
                         : -1);
  fillRest(instance, solution.deviceOf);
  return solution;
}

} // namespace etc::placement
