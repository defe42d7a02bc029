//===- Transfers.cpp - What moves between devices -------------------------===//

#include "etc/Analysis/Transfers.h"

#include "etc/Analysis/MigrationFleet.h"
#include "etc/Analysis/Preserved.h"

using namespace etc;
using namespace mlir;

TransferTable::TransferTable(MigrationOp migration, AnalysisManager &analyses) {
  const auto &table = analyses.getAnalysis<TensorTable, MigrationOp>();
  if (auto demands = migration.getOnly<DemandsOp>()) {
    addDemands(demands, analyses);
    return;
  }
  auto ops = migration.getOnly<TransfersOp>().getBody().getOps<TransferOp>();
  transfers.reserve(std::distance(ops.begin(), ops.end()));
  for (TransferOp op : ops) {
    llvm::SmallBitVector types = table.getTypes(op.getWt());
    // Without the room that a list has when it has grown.
    const SmallVector<Piece> pieces = table.expand(op.getWid(), types);
    transfers.push_back({pieces, types,
                         static_cast<unsigned>(op.getHop().value_or(0)),
                         op.getFromTransit(), op.getToTransit(),
                         op.getSources(), op.getDestinations()});
  }
}

void TransferTable::addDemands(DemandsOp demands, AnalysisManager &analyses) {
  const auto &table = analyses.getAnalysis<TensorTable, MigrationOp>();
  const auto &fleet = analyses.getAnalysis<MigrationFleet, MigrationOp>();
  for (DemandOp op : demands.getBody().getOps<DemandOp>()) {
    SmallVector<int64_t> holders = fleet.findHolders(readHolders(op));
    // Where none is alive, nothing is sent, which etc-verify-plan finds.
    if (holders.empty())
      continue;
    llvm::SmallBitVector types = table.getTypes(op.getWt());
    ArrayRef<int64_t> all = op.getDevices();
    const auto &sources =
        firstHolders.emplace_back(all.size(), *llvm::min_element(holders));
    transfers.push_back({table.expand(op.getWid(), types), types,
                         /*hop=*/0, /*fromTransit=*/false, /*toTransit=*/false,
                         sources, all});
  }
}

bool TransferTable::isInvalidated(
    const AnalysisManager::PreservedAnalyses &preserved) {
  return !arePreserved<TransferTable, TensorTable>(preserved);
}
