//===- PaperDefragment.cpp - Algorithm 2, repaired ------------------------===//
//
// docs/paper-policy.md says what the algorithm says as printed, and what is
// done here instead.
//
//===----------------------------------------------------------------------===//

#include "PaperSketch.h"

#include "llvm/ADT/SetVector.h"

using namespace etc;
using namespace mlir;

/// Occupancy: the lowest idle device takes over from the highest occupied one,
/// until the two meet.
static void packDevices(MigrationOp migration, const Devices &devices,
                        MutableArrayRef<int64_t> placement) {
  SmallVector<int64_t> rankOn(devices.size(), -1), idle;
  for (auto [rank, device] : llvm::enumerate(placement))
    rankOn[device] = rank;
  for (int64_t device : migration.getPrevPlacement())
    if (rankOn[device] < 0 && devices.isUsable(device))
      idle.push_back(device);
  llvm::sort(idle);
  int64_t last = devices.size() - 1;
  for (int64_t device : idle) {
    while (last > device && rankOn[last] < 0)
      --last;
    if (last <= device)
      return;
    placement[rankOn[last--]] = device;
  }
}

/// The target of the efficiency branch: rank r on the r-th device that may take
/// a role.
static SmallVector<int64_t> targetPlacement(const Devices &devices,
                                            int64_t world) {
  SmallVector<int64_t> target(world, -1);
  placeUnpaired(devices, target);
  return target;
}

/// Nodes that the tensor-parallel group of ranks [first, first + tp) is on.
static size_t countNodes(const Devices &devices, ArrayRef<int64_t> placement,
                         int64_t first, int64_t tp) {
  llvm::SmallSetVector<int64_t, 8> nodes;
  for (int64_t device : placement.slice(first, tp))
    nodes.insert(devices.getNode(device));
  return nodes.size();
}

/// Whether a group is on more nodes than the target puts it on. Groups larger
/// than a node cross nodes in any case.
static bool crossesNodes(MigrationOp migration, const Devices &devices,
                         ArrayRef<int64_t> placement,
                         ArrayRef<int64_t> target) {
  int64_t tp = migration.getCurr().getTp();
  for (int64_t first = 0; first < std::ssize(placement); first += tp)
    if (countNodes(devices, placement, first, tp) >
        countNodes(devices, target, first, tp))
      return true;
  return false;
}

SmallVector<int64_t> etc::defragment(MigrationOp migration,
                                     const Devices &devices,
                                     ArrayRef<int64_t> placement) {
  SmallVector<int64_t> result(placement);
  if (migration.getCurr().getWorld() < migration.getPrev().getWorld())
    packDevices(migration, devices, result);
  SmallVector<int64_t> target = targetPlacement(devices, result.size());
  return crossesNodes(migration, devices, result, target) ? target : result;
}
