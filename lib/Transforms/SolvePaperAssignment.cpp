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
  LogicalResult runOnMigration(MigrationOp migration) override;
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
      PairOp::create(builder, migration.getFieldLoc({"curr"}), attr, groups,
                     prevAttr, groups,
                     /*devices=*/DenseI64ArrayAttr());
    }
    if (!fresh.empty())
      PairOp::create(builder, migration.getFieldLoc({"curr"}), attr,
                     builder.getDenseI64ArrayAttr(fresh), RoleAttr(),
                     DenseI64ArrayAttr(), /*devices=*/DenseI64ArrayAttr());
  }
}

LogicalResult SolvePaperAssignment::runOnMigration(MigrationOp migration) {
  if (migration.getCurrDevices())
    return migration.emitFieldError({"curr.devices"})
           << "fixes the devices of curr, which the paper's method chooses "
              "itself; leave them out, or use policy best";
  MatrixAttr matrix = migration.getCosts(costs);
  // The exact sketch has given the bound; the paper's takes its place.
  for (PairOp pair : llvm::make_early_inc_range(migration.getOps<PairOp>()))
    pair.erase();
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  createPairs(builder, solvePaperSketch(matrix.getRows(), matrix.getColumns(),
                                        matrix.getValues()));
  migration.setPolicy(Policy::Paper);
  return success();
}
