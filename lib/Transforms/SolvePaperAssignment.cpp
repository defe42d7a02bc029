//===- SolvePaperAssignment.cpp - The paper's migration sketch ------------===//

#include "PaperSketch.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace etc {
#define GEN_PASS_DEF_SOLVEPAPERASSIGNMENTPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
struct SolvePaperAssignment
    : ::etc::impl::SolvePaperAssignmentPassBase<SolvePaperAssignment> {
  using Base::Base;
  void runOnOperation() override;
  void createPairs(OpBuilder &builder, const PaperSketch &sketch);
};
} // namespace

/// One `etc.pair` for the groups in which the role has a previous rank, and one
/// for those in which it has none.
void SolvePaperAssignment::createPairs(OpBuilder &builder,
                                       const PaperSketch &sketch) {
  MigrationOp migration = getOperation();
  ParallelAttr prev = migration.getPrev(), curr = migration.getCurr();
  SmallVector<int64_t> placement =
      placePaperSketch(migration, Devices(migration), sketch);
  for (auto [role, prevRole] : llvm::enumerate(sketch)) {
    SmallVector<int64_t> paired, fresh;
    for (int64_t group = 0; group < curr.getDp(); ++group) {
      int64_t rank = rankOfPlace(curr, {static_cast<int64_t>(role), group});
      (placement[rank] >= 0 ? paired : fresh).push_back(group);
    }
    RoleAttr attr = curr.getRole(role);
    if (!paired.empty()) {
      RoleAttr prevAttr = prev.getRole(prevRole);
      auto groups = builder.getDenseI64ArrayAttr(paired);
      PairOp::create(builder, migration.getLoc(), attr, groups, prevAttr,
                     groups,
                     /*devices=*/DenseI64ArrayAttr());
    }
    if (!fresh.empty())
      PairOp::create(builder, migration.getLoc(), attr,
                     builder.getDenseI64ArrayAttr(fresh), RoleAttr(),
                     DenseI64ArrayAttr(), /*devices=*/DenseI64ArrayAttr());
  }
}

void SolvePaperAssignment::runOnOperation() {
  MigrationOp migration = getOperation();
  if (migration.getCurrDevices()) {
    migration.emitError("fixes the devices of curr, which the paper's method "
                        "chooses itself; leave them out, or use policy best");
    return signalPassFailure();
  }
  int64_t roles =
      std::max(migration.getPrev().getRoles(), migration.getCurr().getRoles());
  if (roles > paperMaxRoles) {
    migration.emitError()
        << "has " << roles
        << " roles (PP x TP) on a side; the paper's method is "
        << "for at most " << paperMaxRoles << ", policy best for more";
    return signalPassFailure();
  }
  MatrixAttr matrix;
  for (CostMatrixOp op : migration.getOps<CostMatrixOp>())
    if (op.getUnit() == costs)
      matrix = op.getCosts();
  if (!matrix) {
    migration.emitError()
        << "has no cost matrix in '" << stringifyCostUnit(costs)
        << "'; run etc-build-paper-costs and etc-build-cost-matrix first";
    return signalPassFailure();
  }
  // The exact sketch has given the bound; the paper's takes its place.
  for (PairOp pair : llvm::make_early_inc_range(migration.getOps<PairOp>()))
    pair.erase();
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  createPairs(builder, solvePaperSketch(matrix.getRows(), matrix.getColumns(),
                                        matrix.getValues()));
  migration.setPolicy(Policy::Paper);
}
