// Which device takes which rank.

#include "etc/Optimize/Placement/Solver.h"

#include "Partition.h"

namespace etc::placement {

std::optional<Solution> solve(const Problem &problem) {
  const Instance instance = instanceOf(problem);
  if (int64_t(instance.devices.size()) < problem.getRanks())
    return std::nullopt;
  if (problem.policy == Policy::Any)
    return placeAnywhere(instance);
  return placeInNodes(instance);
}

Fit fitGroups(const Problem &problem) {
  const Instance instance = instanceOf(problem);
  Fit fit{countParts(instance) == 1, 0};
  for (const Site &node : findNodes(instance))
    fit.fitting += int64_t(node.devices.size()) / problem.groupSize;
  fit.fitting = std::min(fit.fitting, problem.getGroups());
  return fit;
}

} // namespace etc::placement
