//===- PlaceAnywhere.cpp - One assignment over all devices ----------------===//

#include "Placement.h"
#include "etc/Optimize/Assignment/Expand.h"

#include "llvm/ADT/BitVector.h"

#include <map>

using namespace etc;

namespace {
/// Devices of equal worth to every role: the same node class and the same
/// previous role.
using Columns =
    std::map<std::pair<int64_t, int64_t>, llvm::SmallVector<int64_t>>;
} // namespace

static Columns findColumns(const PlacementProblem &problem) {
  Columns columns;
  for (const Candidate &candidate : problem.devices)
    columns[{problem.nodeClass[candidate.node], candidate.prevRole}].push_back(
        candidate.device);
  return columns;
}

/// Columns are a group where their node classes and their previous roles are.
static GroupedProblem buildProblem(const PlacementProblem &problem,
                                   const Columns &columns) {
  const WorthTable &onNode = problem.onNode, &onDevice = problem.onDevice;
  GroupedProblem result;
  result.supply.assign(problem.getRoles(), problem.dp);
  for (int64_t role = 0; role < problem.getRoles(); ++role)
    result.rowGroup.push_back(onNode.getRowGroup(role));
  std::map<std::pair<int32_t, int32_t>, int32_t> groups;
  std::map<int64_t, llvm::SmallVector<std::pair<int32_t, int64_t>>> ofClass;
  for (const auto &[key, members] : columns) {
    auto [nodeClass, prevRole] = key;
    ofClass[nodeClass].push_back({result.capacity.size(), prevRole});
    result.capacity.push_back(members.size());
    std::pair<int32_t, int32_t> group(
        onNode.getColumnGroup(nodeClass),
        prevRole < 0 ? -1 : onDevice.getColumnGroup(prevRole));
    result.colGroup.push_back(
        groups.try_emplace(group, groups.size()).first->second);
  }
  for (auto [key, column] : groups)
    for (int32_t row = 0; row < onNode.getRowGroups(); ++row)
      result.groups[{row, column}] = std::max(
          assignment::Weight{},
          problem.worth(onNode.atGroups(row, key.first),
                        key.second < 0 ? 0
                                       : onDevice.atGroups(row, key.second)));
  // A range that a device has, its node has.
  for (int32_t role = 0; role < problem.getRoles(); ++role)
    for (auto [nodeClass, more] : onNode.getPairs(role))
      for (auto [column, prevRole] : ofClass[nodeClass])
        result.pairs[{role, column}] =
            problem.worth(onNode.at(role, nodeClass),
                          prevRole < 0 ? 0 : onDevice.at(role, prevRole));
  return result;
}

/// Ranks that keep nothing anywhere take the lowest devices that are left.
static void fillRest(const PlacementProblem &problem,
                     llvm::SmallVectorImpl<int64_t> &deviceOf) {
  llvm::BitVector taken(problem.devices.back().device + 1);
  for (int64_t device : deviceOf)
    if (device >= 0)
      taken.set(device);
  auto next = problem.devices.begin();
  for (int64_t &device : deviceOf) {
    if (device >= 0)
      continue;
    while (taken.test(next->device))
      ++next;
    device = next++->device;
  }
}

Placement etc::placeAnywhere(const PlacementProblem &problem) {
  Columns columns = findColumns(problem);
  llvm::SmallVector<llvm::ArrayRef<int64_t>> members;
  for (const auto &[key, list] : columns)
    members.push_back(list);
  auto [classes, solution] = buildProblem(problem, columns).solve();
  Placement placement{{}, solution.total};
  for (const auto &replicas : assignment::expand(classes, solution.flow))
    for (const assignment::Match &match : replicas)
      placement.deviceOf.push_back(
          match.isMade() ? members[match.col][match.member] : -1);
  fillRest(problem, placement.deviceOf);
  return placement;
}
