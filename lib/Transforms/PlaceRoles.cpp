//===- PlaceRoles.cpp - The physical device of every current rank ---------===//

#include "etc/Analysis/Devices.h"
#include "etc/Analysis/Holdings.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace etc {
#define GEN_PASS_DEF_PLACEROLESPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
struct PlaceRoles : ::etc::impl::PlaceRolesPassBase<PlaceRoles> {
  LogicalResult runOnMigration(MigrationOp migration) override;
};
} // namespace

/// Device of every current rank that has one; -1 for the others.
static SmallVector<int64_t> placePairs(MigrationOp migration) {
  ParallelAttr prev = migration.getPrev(), curr = migration.getCurr();
  SmallVector<int64_t> placement = migration.getPrevPlacement();
  SmallVector<int64_t> devices(curr.getWorld(), -1);
  auto rank = [](ParallelAttr side, RoleAttr role, int64_t replica) {
    return rankOfPlace(side, {side.getRoleIndex(role), replica});
  };
  for (PairOp pair : migration.getOps<PairOp>()) {
    if (!pair.getPrev()) {
      for (auto [to, device] :
           llvm::zip(pair.getCurrReplicas(),
                     pair.getDevices().value_or(ArrayRef<int64_t>())))
        devices[rank(curr, pair.getCurr(), to)] = device;
      continue;
    }
    for (auto [to, from] :
         llvm::zip_equal(pair.getCurrReplicas(), *pair.getPrevReplicas()))
      devices[rank(curr, pair.getCurr(), to)] =
          placement[rank(prev, *pair.getPrev(), from)];
  }
  return devices;
}

LogicalResult PlaceRoles::runOnMigration(MigrationOp migration) {
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  Devices devices(migration);
  SmallVector<int64_t> placed = placePairs(migration);
  llvm::BitVector taken(devices.size());
  for (int64_t device : placed)
    if (device >= 0)
      taken.set(device);
  int64_t next = 0;
  for (auto [rank, device] : llvm::enumerate(placed)) {
    if (device >= 0)
      continue;
    while (next < devices.size() &&
           (taken.test(next) || !devices.isUsable(next)))
      ++next;
    if (next == devices.size())
      return migration.emitFieldError({"curr"})
             << "current rank " << rank
             << " finds no device: " << migration.getCurr().getWorld()
             << " are needed; add nodes to the cluster or lower curr";
    device = next++;
  }
  PlacementOp::create(builder,
                      migration.getFieldLoc({"curr.devices", "place", "curr"}),
                      placed);
  return success();
}
