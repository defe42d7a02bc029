//===- BuildCostMatrix.cpp - What a previous role lacks of a current one --===//

#include "etc/Analysis/Holdings.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace etc {
#define GEN_PASS_DEF_BUILDCOSTMATRIXPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
/// Layers [first, last] x slices [begin, end) of an id, in the paper's units.
struct Rectangle {
  int64_t first, last, begin, end;
  int64_t area() const {
    return std::max<int64_t>(0, last - first + 1) *
           std::max<int64_t>(0, end - begin);
  }
};

struct BuildCostMatrix : ::etc::impl::BuildCostMatrixPassBase<BuildCostMatrix> {
  LogicalResult runOnMigration(MigrationOp migration) override;
};
} // namespace

/// The units a role holds on a side. What every tensor rank holds, and what is
/// not of a layer, has no unit.
static SmallVector<Rectangle> unitsOf(WorkloadOp workload,
                                      const TensorTable &table) {
  SmallVector<Rectangle> units;
  const int64_t slices = table.getSliceCount(/*ofExperts=*/false);
  auto isOneTensor = [](WorkloadAttr id) {
    return id.getPart() == Part::Layer && id.getTensor();
  };
  ArrayAttr ids = workload.getWid();
  // A tensor that is named by itself is part of a unit that others complete.
  if (llvm::any_of(ids.getAsRange<WorkloadAttr>(), isOneTensor))
    ids = canonicalWorkloads(
        table, ids, table.getTypes(workload.getWt().value_or(ArrayAttr())));
  for (auto id : ids.getAsRange<WorkloadAttr>()) {
    if (id.getPart() != Part::Layer || id.getReplicated() || id.getTensor() ||
        id.hasExperts())
      continue;
    units.push_back({id.getFirstLayer(), id.getLastLayer(),
                     id.getSlices().begin,
                     id.hasSlices() ? id.getSlices().end : slices});
  }
  return units;
}

static int64_t sharedUnits(ArrayRef<Rectangle> a, ArrayRef<Rectangle> b) {
  int64_t units = 0;
  for (const Rectangle &x : a)
    for (const Rectangle &y : b)
      units += Rectangle{std::max(x.first, y.first), std::min(x.last, y.last),
                         std::max(x.begin, y.begin), std::min(x.end, y.end)}
                   .area();
  return units;
}

static MatrixAttr unitCosts(MigrationOp migration, const TensorTable &table) {
  std::vector<SmallVector<Rectangle>> prev(migration.getPrev().getPools()),
      curr(migration.getCurr().getPools());
  auto first = cast<StateAttr>(migration.getTypes()[0]).getName();
  for (WorkloadOp workload : migration.getOps<WorkloadOp>()) {
    // Ranges are no units. What is laid out in several ways has its units where
    // the first type is.
    if (workload.getRole().hasReplica())
      continue;
    if (workload.getWt() && !llvm::is_contained(*workload.getWt(), first))
      continue;
    Side side = workload.getSide();
    int64_t pool = migration.getParallel(side).getPoolIndex(workload.getRole());
    llvm::append_range((side == Side::Prev ? prev : curr)[pool],
                       unitsOf(workload, table));
  }
  SmallVector<int64_t> costs;
  for (ArrayRef<Rectangle> row : curr) {
    int64_t size = sharedUnits(row, row);
    for (ArrayRef<Rectangle> column : prev)
      costs.push_back(size - sharedUnits(row, column));
  }
  return MatrixAttr::get(migration.getContext(), curr.size(), prev.size(),
                         costs);
}

namespace {
/// What current roles share with previous ones.
class ByteCosts {
public:
  ByteCosts(MigrationOp migration, const TensorTable &table,
            const BothHoldings &both);

  MatrixAttr getMatrix() const {
    return MatrixAttr::get(migration.getContext(), curr.getPools(),
                           prev.getPools(), costs);
  }
  void createOverlaps(OpBuilder &builder) const;

private:
  void addPiece(const Piece &piece,
                llvm::function_ref<void(Holder, int64_t)> share) const;
  void addPool(int64_t pool);
  void addRange(int64_t role);

  mutable MigrationOp migration; ///< ops are handles, their getters not const
  const TensorTable &table;
  const Holdings &prev, &curr;
  HolderIndex holders;
  SmallVector<int64_t> costs; ///< [current pool][previous pool]
  std::vector<std::map<int64_t, int64_t>>
      overlaps; ///< [current role] by previous role
};
} // namespace

ByteCosts::ByteCosts(MigrationOp migration, const TensorTable &table,
                     const BothHoldings &both)
    : migration(migration), table(table), prev(both.prev), curr(both.curr),
      holders(prev), overlaps(curr.size()) {
  for (int64_t pool = 0; pool < curr.getPools(); ++pool)
    addPool(pool);
  for (int64_t role = 0; role < curr.size(); ++role)
    addRange(role);
}

/// Tells what every holder has of a current piece, in bytes. Twins are all held
/// by pools, or all by single roles.
void ByteCosts::addPiece(
    const Piece &piece, llvm::function_ref<void(Holder, int64_t)> share) const {
  const int64_t bytes = table.getMovedBytes(piece) / piece.size();
  holders.forHolders(piece, getSources(table, prev, piece.tensor),
                     [&](Holder holder, int64_t elements) {
                       share(holder, elements * bytes);
                     });
}

void ByteCosts::addPool(int64_t pool) {
  int64_t size = 0;
  SmallVector<int64_t> shared(prev.getPools());
  for (const Piece &piece : curr.getShared(pool)) {
    size += table.getMovedBytes(piece);
    addPiece(piece, [&](Holder holder, int64_t bytes) {
      if (holder.isPool)
        shared[holder.number] += bytes;
      else
        for (int64_t role : curr.getRoles(pool))
          overlaps[role][holder.number] += bytes;
    });
  }
  for (int64_t bytes : shared)
    costs.push_back(size - bytes);
}

/// An inventory may list what all previous roles of a pool share.
void ByteCosts::addRange(int64_t role) {
  for (const Piece &piece : curr.getOwn(role))
    addPiece(piece, [&](Holder holder, int64_t bytes) {
      if (!holder.isPool)
        overlaps[role][holder.number] += bytes;
      else
        for (int64_t prevRole : prev.getRoles(holder.number))
          overlaps[role][prevRole] += bytes;
    });
}

void ByteCosts::createOverlaps(OpBuilder &builder) const {
  for (auto [role, shared] : llvm::enumerate(overlaps)) {
    SmallVector<Attribute> roles;
    SmallVector<int64_t> bytes;
    for (auto [prevRole, count] : shared) {
      if (count == 0)
        continue;
      roles.push_back(prev.getRole(prevRole));
      bytes.push_back(count);
    }
    if (!roles.empty())
      OverlapOp::create(builder, migration.getFieldLoc({"curr"}),
                        curr.getRole(role), builder.getArrayAttr(roles), bytes);
  }
}

LogicalResult BuildCostMatrix::runOnMigration(MigrationOp migration) {
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  const auto &table = getAnalysis<TensorTable>();
  ByteCosts costs(migration, table, getAnalysis<BothHoldings>());
  Location loc = migration.getFieldLoc({"curr"});
  CostMatrixOp::create(builder, loc, CostUnit::Units,
                       unitCosts(migration, table));
  CostMatrixOp::create(builder, loc, CostUnit::Bytes, costs.getMatrix());
  costs.createOverlaps(builder);
  markAnalysesPreserved<TensorTable, BothHoldings>();
  return success();
}
