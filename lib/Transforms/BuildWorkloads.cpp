//===- BuildWorkloads.cpp - What every virtual rank holds -----------------===//

#include "dialect/Workloads.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace etc {
#define GEN_PASS_DEF_BUILDWORKLOADSPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

/// Whether a side has a tensor at all: tied copies exist only where the first
/// stage is not the last.
static bool isOnSide(TensorOp tensor, ParallelAttr parallel) {
  return !tensor.getTiedTo() || parallel.getPp() > 1;
}

/// Whether a stage holds a tensor: embeddings first, norm and head last.
static bool isOnStage(TensorOp tensor, ParallelAttr parallel, int64_t stage) {
  bool last = stage == parallel.getPp() - 1;
  if (!isOnSide(tensor, parallel))
    return false;
  if (tensor.getPart() == Part::Embed)
    return stage == 0;
  return tensor.getPart() == Part::Layer || last;
}

/// What `role` holds on a side.
static SmallVector<Piece> holdings(MigrationOp migration,
                                   const TensorTable &table, Side side,
                                   RoleAttr role) {
  ParallelAttr parallel = migration.getParallel(side);
  int64_t perStage =
      static_cast<int64_t>(migration.getLayers()) / parallel.getPp();
  SmallVector<Piece> pieces;
  for (auto [index, tensor] : llvm::enumerate(table.getTensors())) {
    TensorOp op = tensor;
    if (!isOnStage(op, parallel, role.getStage()))
      continue;
    int64_t begin = 0, end = table.getExtent(index, side);
    if (op.getSplit()) {
      int64_t share = end / parallel.getTp();
      begin = share * role.getSlice();
      end = begin + share;
    }
    bool layered = op.getPart() == Part::Layer;
    int64_t first = layered ? perStage * role.getStage() : 0;
    for (int64_t layer = first; layer < first + (layered ? perStage : 1);
         ++layer)
      pieces.push_back({static_cast<unsigned>(index), layer, begin, end});
  }
  return pieces;
}

/// Tensor parallelism cuts every tensor evenly on a side.
static LogicalResult checkDivides(MigrationOp migration, Side side) {
  ParallelAttr parallel = migration.getParallel(side);
  int64_t tp = parallel.getTp();
  for (TensorOp tensor : migration.getOps<TensorOp>())
    if (int64_t extent = tensor.getShapeOn(side)[tensor.getCutAxis()];
        tensor.getSplit() && isOnSide(tensor, parallel) && extent % tp)
      return tensor.emitError()
             << stringifySide(side) << ": axis " << *tensor.getSplit()
             << " of '" << tensor.getName() << "' has " << extent
             << " positions, which do not divide over TP = " << tp;
  return success();
}

namespace {
struct BuildWorkloads : ::etc::impl::BuildWorkloadsPassBase<BuildWorkloads> {
  void runOnOperation() override {
    MigrationOp migration = getOperation();
    if (migration.getOnly<WorkloadOp>()) {
      migration.emitError("has workloads already; plan the request stage");
      return signalPassFailure();
    }
    TensorTable table(migration);
    OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
    for (Side side : {Side::Prev, Side::Curr}) {
      if (failed(checkDivides(migration, side)))
        return signalPassFailure();
      ParallelAttr parallel = migration.getParallel(side);
      for (int64_t stage = 0; stage < parallel.getPp(); ++stage)
        for (int64_t slice = 0; slice < parallel.getTp(); ++slice) {
          auto role = RoleAttr::get(&getContext(), stage, slice);
          WorkloadOp::create(
              builder, migration.getLoc(), side, role,
              foldWorkloads(table, holdings(migration, table, side, role)));
          ++roles;
        }
    }
  }
};
} // namespace
