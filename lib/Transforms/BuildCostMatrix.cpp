//===- BuildCostMatrix.cpp - What a previous role lacks of a current one --===//

#include "Holdings.h"
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
  void runOnOperation() override;
};
} // namespace

/// The units a role holds on a side. What every tensor rank holds, and what is
/// not of a layer, has no unit.
static SmallVector<Rectangle> unitsOf(WorkloadOp workload, int64_t slices) {
  SmallVector<Rectangle> units;
  for (auto id : workload.getWid().getAsRange<WorkloadAttr>()) {
    if (id.getPart() != Part::Layer || id.getReplicated() || id.getTensor() ||
        id.hasExperts())
      continue;
    units.push_back({id.getFirstLayer(), id.getLastLayer(), id.getSliceBegin(),
                     id.hasSlices() ? id.getSliceEnd() : slices});
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

static MatrixAttr unitCosts(MigrationOp migration) {
  int64_t slices = migration.getSliceCount();
  std::vector<SmallVector<Rectangle>> prev(migration.getPrev().getRoles()),
      curr(migration.getCurr().getRoles());
  auto first = cast<StateAttr>(migration.getTypes()[0]).getName();
  for (WorkloadOp workload : migration.getOps<WorkloadOp>()) {
    // What is laid out in several ways has its units where the first type is.
    if (workload.getWt() && !llvm::is_contained(*workload.getWt(), first))
      continue;
    Side side = workload.getSide();
    int64_t role = migration.getParallel(side).getRoleIndex(workload.getRole());
    llvm::append_range((side == Side::Prev ? prev : curr)[role],
                       unitsOf(workload, slices));
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

/// Bytes of `curr` that a previous role holds.
static int64_t sharedBytes(const TensorTable &table, const Holdings &prev,
                           int64_t role, const Piece &curr, unsigned source) {
  int64_t elements = 0;
  for (const Piece &held : prev.find(role, source, curr))
    if (std::optional<Piece> shared = intersect(curr, held))
      elements += shared->size();
  return elements * (table.getMovedBytes(curr) / curr.size());
}

static MatrixAttr byteCosts(MigrationOp migration) {
  TensorTable table(migration);
  Holdings prev(migration, table, Side::Prev),
      curr(migration, table, Side::Curr);
  SmallVector<int64_t> costs;
  costs.reserve(curr.size() * prev.size());
  for (int64_t row = 0; row < curr.size(); ++row) {
    int64_t size = 0;
    SmallVector<int64_t> shared(prev.size());
    for (const Piece &piece : curr[row]) {
      size += table.getMovedBytes(piece);
      if (std::optional<unsigned> source = getSource(table, prev, piece.tensor))
        for (int64_t column = 0; column < prev.size(); ++column)
          shared[column] += sharedBytes(table, prev, column, piece, *source);
    }
    for (int64_t bytes : shared)
      costs.push_back(size - bytes);
  }
  return MatrixAttr::get(migration.getContext(), curr.size(), prev.size(),
                         costs);
}

void BuildCostMatrix::runOnOperation() {
  MigrationOp migration = getOperation();
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  CostMatrixOp::create(builder, migration.getLoc(), CostUnit::Units,
                       unitCosts(migration));
  CostMatrixOp::create(builder, migration.getLoc(), CostUnit::Bytes,
                       byteCosts(migration));
}
