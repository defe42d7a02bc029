//===- PlaceAnywhere.cpp - One assignment over all devices ----------------===//

#include "Placement.h"
#include "etc/Assignment/Expand.h"
#include "etc/Assignment/Solver.h"

#include "llvm/ADT/BitVector.h"

#include <map>

using namespace etc;
using assignment::Problem;
using assignment::Weight;

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

static Problem buildProblem(const PlacementProblem &problem,
                            const Columns &columns) {
  Problem result;
  result.supply.assign(problem.getRoles(), problem.dp);
  for (const auto &[key, members] : columns)
    result.capacity.push_back(members.size());
  for (int32_t role = 0; role < problem.getRoles(); ++role) {
    int32_t column = 0;
    for (const auto &[key, members] : columns) {
      Weight weight = problem.worth(
          problem.onNode[role][key.first],
          key.second < 0 ? 0 : problem.onDevice[role][key.second]);
      if (weight > Weight{})
        result.edges.push_back({role, column, weight});
      ++column;
    }
  }
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
  Problem classes = buildProblem(problem, columns);
  assignment::Solution solution = assignment::solve(classes);
  Placement placement{{}, solution.total};
  for (const auto &replicas : assignment::expand(classes, solution.flow))
    for (const assignment::Seat &seat : replicas)
      placement.deviceOf.push_back(
          seat.matched() ? members[seat.col][seat.member] : -1);
  fillRest(problem, placement.deviceOf);
  return placement;
}
