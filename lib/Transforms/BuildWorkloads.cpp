//===- BuildWorkloads.cpp - What every virtual rank holds -----------------===//

#include "etc/Analysis/FlatRanges.h"
#include "etc/Analysis/RowShards.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

#include <map>

namespace etc {
#define GEN_PASS_DEF_BUILDWORKLOADSPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
/// Collects what the roles of one pool of a side hold but for their ranges.
class PoolHoldings {
public:
  PoolHoldings(MigrationOp migration, const TensorTable &table, Side side,
               RoleAttr role)
      : migration(migration), table(table), side(side),
        parallel(migration.getParallel(side)), role(role) {}

  SmallVector<Piece> collect();

private:
  void addTensor(unsigned tensor);
  void addLayer(unsigned tensor, int64_t layer);
  void add(unsigned tensor, int64_t layer, int64_t expert);

  MigrationOp migration;
  const TensorTable &table;
  Side side;
  ParallelAttr parallel;
  RoleAttr role;
  SmallVector<Piece> pieces;
};
} // namespace

/// A flat tensor on a side that cuts flat ranges comes with the buffers.
void PoolHoldings::add(unsigned tensor, int64_t layer, int64_t expert) {
  Piece piece = table.getWhole(tensor, layer, expert, side);
  bool ofExpert = table.isOfExpert(tensor);
  int64_t tp = ofExpert ? parallel.getEtp() : parallel.getTp();
  if (table.isSplit(tensor)) {
    int64_t share = piece.cut.size() / tp, rank = role.getSlot() % tp;
    piece.cut = {share * rank, share * (rank + 1)};
  }
  pieces.push_back(piece);
}

void PoolHoldings::addLayer(unsigned tensor, int64_t layer) {
  if (!table.isInLayer(tensor, layer))
    return;
  if (!table.isOfExpert(tensor))
    return add(tensor, layer, 0);
  int64_t count = table.getExperts() / parallel.getEp(),
          rank = role.getSlot() / parallel.getEtp() % parallel.getEp();
  for (int64_t expert = count * rank; expert < count * (rank + 1); ++expert)
    add(tensor, layer, expert);
}

void PoolHoldings::addTensor(unsigned tensor) {
  TensorOp op = table[tensor];
  if (!op.isOn(parallel) || (op.getFlat() && parallel.getZero1()))
    return;
  if (op.getPart() == Part::Layer) {
    for (auto [begin, end] : migration.getLayersOf(side, role.getStage()))
      for (int64_t layer = begin; layer < end; ++layer)
        addLayer(tensor, layer);
    return;
  }
  for (int64_t chunk = 0; chunk < parallel.getVpp(); ++chunk)
    if (migration.hasPart(side, chunk * parallel.getPp() + role.getStage(),
                          op.getPart()))
      addLayer(tensor, 0);
}

SmallVector<Piece> PoolHoldings::collect() {
  for (unsigned tensor = 0; tensor < table.size(); ++tensor)
    addTensor(tensor);
  return std::move(pieces);
}

/// Tensor parallelism cuts every tensor evenly on a side.
static LogicalResult checkDivides(MigrationOp migration, Side side) {
  ParallelAttr parallel = migration.getParallel(side);
  for (TensorOp tensor : migration.getOps<TensorOp>()) {
    int64_t extent = tensor.getShapeOn(side)[tensor.getCutAxis()],
            tp = tensor.isOfExpert() ? parallel.getEtp() : parallel.getTp();
    if (tensor.getSplit() && tensor.isOn(parallel) && extent % tp)
      return tensor.emitError()
             << stringifySide(side) << ": axis " << *tensor.getSplit()
             << " of '" << tensor.getName() << "' has " << extent
             << " positions, which do not divide over "
             << (tensor.isOfExpert() ? "ETP = " : "TP = ") << tp;
  }
  return success();
}

/// One `etc.workload` for the tensors of each set of types.
static void createWorkloads(OpBuilder &builder, MigrationOp migration,
                            const TensorTable &table, Side side, RoleAttr role,
                            ArrayRef<Piece> all) {
  std::map<SmallVector<unsigned>, SmallVector<Piece>> byTypes;
  for (const Piece &piece : all)
    byTypes[SmallVector<unsigned>(table.getTypes(piece.tensor).set_bits())]
        .push_back(piece);
  for (auto &[numbers, pieces] : byTypes) {
    llvm::SmallBitVector types(table.getTypeCount());
    for (unsigned type : numbers)
      types.set(type);
    WorkloadOp::create(builder, migration.getFieldLoc({stringifySide(side)}),
                       side, role, foldWorkloads(table, pieces, types),
                       types.all() ? ArrayAttr() : table.getTypeNames(types));
  }
}

/// What the replicas of a pool hold for themselves; nothing where they are
/// alike.
static ReplicaRanges rangesOf(MigrationOp migration, const TensorTable &table,
                              Side side, RoleAttr pool,
                              ArrayRef<Piece> pieces) {
  ParallelAttr parallel = migration.getParallel(side);
  if (parallel.getZero1())
    return flatRanges(migration, table, side, pool);
  ReplicaRanges ranges;
  if (parallel.getFsdp() > 1)
    for (int64_t replica = 0; replica < parallel.getReplicas(); ++replica)
      ranges.push_back(rowShards(table, parallel, side, pieces, replica));
  return ranges;
}

namespace {
struct BuildWorkloads : ::etc::impl::BuildWorkloadsPassBase<BuildWorkloads> {
  LogicalResult runOnMigration(MigrationOp migration) override {
    const auto &table = getAnalysis<TensorTable>();
    OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
    for (Side side : {Side::Prev, Side::Curr}) {
      ParallelAttr parallel = migration.getParallel(side);
      if (parallel.getInventory())
        continue;
      if (failed(checkDivides(migration, side)))
        return failure();
      for (int64_t pool = 0; pool < parallel.getPools(); ++pool) {
        RoleAttr role = parallel.getPool(pool);
        const SmallVector<Piece> shared =
            PoolHoldings(migration, table, side, role).collect();
        if (!parallel.ownsAll())
          createWorkloads(builder, migration, table, side, role, shared);
        for (auto [replica, pieces] :
             llvm::enumerate(rangesOf(migration, table, side, role, shared)))
          createWorkloads(
              builder, migration, table, side,
              parallel.getRole(pool * parallel.getReplicas() + replica),
              pieces);
      }
      roles += parallel.getRoles();
    }
    markAnalysesPreserved<TensorTable>();
    return success();
  }
};
} // namespace
