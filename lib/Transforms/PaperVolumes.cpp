//===- PaperVolumes.cpp - What the paper's policy would move --------------===//

#include "etc/Transforms/PaperVolumes.h"

#include "PaperCosts.h"
#include "PaperSketch.h"

using namespace etc;
using namespace mlir;

std::optional<Volumes> etc::paperVolumes(MigrationOp migration) {
  if (migration.getCurrDevices() || !isPaperForm(migration) ||
      migration.getPrev().getRoles() > paperMaxRoles ||
      migration.getCurr().getRoles() > paperMaxRoles)
    return std::nullopt;
  PaperMatrix costs =
      mergeCosts(buildPipelineCosts(migration), buildTensorCosts(migration));
  Devices devices(migration);
  SmallVector<int64_t> placement = placePaperSketch(
      migration, devices,
      solvePaperSketch(costs.rows, costs.columns, costs.costs));
  if (!placeUnpaired(devices, placement))
    return std::nullopt;
  return PlacementVolumes(migration).of(
      defragment(migration, devices, placement));
}
