//===- Defragment.cpp - The physical device of every current rank ---------===//

#include "JointPlacement.h"
#include "PaperSketch.h"
#include "etc/Transforms/Passes.h"
#include "etc/Verify/Stages.h"

#include "mlir/IR/Builders.h"

namespace etc {
#define GEN_PASS_DEF_DEFRAGMENTPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

using Placed = FailureOr<SmallVector<int64_t>>;

namespace {
struct Defragment : ::etc::impl::DefragmentPassBase<Defragment> {
  using DefragmentPassBase::DefragmentPassBase;
  LogicalResult runOnMigration(MigrationOp migration) override;
  Placed place(MigrationOp migration);
};
} // namespace

/// Device of every current rank whose pair says it; -1 for the others.
static SmallVector<int64_t> readPairs(MigrationOp migration) {
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

/// A rank that is paired takes over its previous rank's device, the others the
/// lowest that are free.
static Placed placePairs(MigrationOp migration, const Devices &devices) {
  SmallVector<int64_t> placement = readPairs(migration);
  if (placeUnpaired(devices, placement))
    return placement;
  const auto *rank = llvm::find(placement, -1);
  return Placed(migration.emitFieldError({"curr"})
                << "current rank " << rank - placement.begin()
                << " finds no device: " << placement.size()
                << " are needed; add nodes to the cluster or lower curr");
}

Placed Defragment::place(MigrationOp migration) {
  const auto &devices = getAnalysis<Devices>();
  if (policy == DefragmentPolicy::Joint) {
    if (!within.empty() && !symbolizePlace(within))
      return Placed(migration.emitError("within: '")
                    << within << "' is no place; use any, tp or pack");
    if (failed(
            checkPresent(Content::Workloads | Content::ByteCosts, migration)))
      return failure();
    return placeJointly(migration, devices, getAnalysis<Benefits>(),
                        getAnalysis<TensorTable>(), getAnalysis<BothHoldings>(),
                        {totalFirst,
                         symbolizePlace(within),
                         listsNarrower,
                         {shareNodes, reachNics}});
  }
  if (auto fixed = migration.getCurrDevices())
    return SmallVector<int64_t>(*fixed);
  Placed placement = placePairs(migration, devices);
  if (failed(placement) || policy == DefragmentPolicy::None)
    return placement;
  SmallVector<int64_t> result = defragment(migration, devices, *placement);
  for (auto [before, after] : llvm::zip_equal(*placement, result))
    moves += before != after;
  return result;
}

LogicalResult Defragment::runOnMigration(MigrationOp migration) {
  Placed placement = place(migration);
  if (failed(placement))
    return failure();
  if (policy == DefragmentPolicy::Joint)
    rewritePairs(migration, getAnalysis<Devices>(), *placement);
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  PlacementOp::create(builder,
                      migration.getFieldLoc({"curr.devices", "place", "curr"}),
                      *placement);
  markAnalysesPreserved<TensorTable, BothHoldings, Devices>();
  return success();
}
