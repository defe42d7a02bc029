//===- PaperVolumes.cpp - What the paper's policy would move --------------===//

#include "etc/Transforms/PaperVolumes.h"

#include "Needs.h"
#include "PaperCosts.h"
#include "PaperSketch.h"

using namespace etc;
using namespace mlir;

/// For every node, the previous roles that its devices hold.
static SmallVector<llvm::BitVector> rolesOnNodes(const Devices &devices,
                                                 int64_t roles) {
  SmallVector<llvm::BitVector> held;
  for (int64_t device = 0; device < devices.size(); ++device) {
    held.resize(devices.getNode(device) + 1, llvm::BitVector(roles));
    if (int64_t role = devices.getPrevRole(device); role >= 0)
      held[devices.getNode(device)].set(role);
  }
  return held;
}

std::optional<Volumes> etc::volumesOf(MigrationOp migration,
                                      ArrayRef<int64_t> placement) {
  TensorTable table(migration);
  Holdings prev(migration, table, Side::Prev),
      curr(migration, table, Side::Curr);
  Devices devices(migration);
  NeedsTable needs(table, prev, curr);
  SmallVector<llvm::BitVector> onNode = rolesOnNodes(devices, prev.size());
  Volumes volumes;
  for (auto [rank, device] : llvm::enumerate(placement)) {
    const Needs *wanted = needs.get(placeOfRank(migration.getCurr(), rank).role,
                                    devices.getPrevRole(device));
    if (!wanted)
      return std::nullopt;
    const llvm::BitVector &near = onNode[devices.getNode(device)];
    int64_t received = 0;
    for (unsigned number : wanted->missing) {
      const Fragment &fragment = needs.getFragments()[number];
      received += fragment.bytes;
      if (llvm::none_of(fragment.holders,
                        [&](int64_t role) { return near.test(role); }))
        volumes.internode += fragment.bytes;
    }
    volumes.moved += received;
    volumes.maxRecv = std::max(volumes.maxRecv, received);
  }
  return volumes;
}

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
  return volumesOf(migration, defragment(migration, devices, placement));
}
