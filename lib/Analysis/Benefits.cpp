//===- Benefits.cpp - What current roles keep where they are put ----------===//

#include "etc/Analysis/Benefits.h"

using namespace etc;
using namespace mlir;
using placement::BenefitTable;

static std::vector<int32_t> poolsOf(const Holdings &side) {
  std::vector<int32_t> pools;
  for (int64_t role = 0; role < side.size(); ++role)
    pools.push_back(side.getPool(role));
  return pools;
}

/// What every current role shares with every previous one, from the costs.
static BenefitTable benefitsOnDevices(MigrationOp migration,
                                      const TensorTable &table,
                                      const Holdings &prev,
                                      const Holdings &curr) {
  BenefitTable benefits(poolsOf(curr), poolsOf(prev));
  MatrixAttr costs = migration.getCosts(CostUnit::Bytes);
  for (int64_t row = 0; row < costs.getRows(); ++row) {
    int64_t bytes = 0;
    for (const Piece &piece : curr.getShared(row))
      bytes += table.getMovedBytes(piece);
    for (int64_t column = 0; column < costs.getColumns(); ++column)
      benefits.atGroups(row, column) = bytes - costs.at(row, column);
  }
  for (OverlapOp overlap : migration.getOps<OverlapOp>())
    for (auto [role, bytes] : llvm::zip_equal(
             overlap.getPrev().getAsRange<RoleAttr>(), overlap.getBytes()))
      benefits.add(curr.getIndex(overlap.getCurr()), prev.getIndex(role),
                   bytes);
  return benefits;
}

Benefits::Benefits(MigrationOp migration, const TensorTable &table,
                   const Devices &devices, const Holdings &prev,
                   const Holdings &curr)
    : classes(devices, prev),
      onDevice(benefitsOnDevices(migration, table, prev, curr)),
      onNode(classes.countBenefits(table, prev, curr)) {}

Benefits::Benefits(MigrationOp migration, AnalysisManager &analyses)
    : Benefits(migration, analyses.getAnalysis<TensorTable, MigrationOp>(),
               analyses.getAnalysis<Devices, MigrationOp>(),
               analyses.getAnalysis<BothHoldings, MigrationOp>().prev,
               analyses.getAnalysis<BothHoldings, MigrationOp>().curr) {}
