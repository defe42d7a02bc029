//===- Transfers.h - What moves between devices -----------------*- C++ -*-===//

#ifndef ETC_ANALYSIS_TRANSFERS_H
#define ETC_ANALYSIS_TRANSFERS_H

#include "dialect/Workloads.h"

#include "mlir/Pass/AnalysisManager.h"

#include <deque>

namespace etc {

/// Pieces that go from each of several devices to another, in some types.
struct Transfer {
  llvm::SmallVector<Piece> pieces;
  llvm::SmallBitVector types;
  /// How often the pieces have been received before they are sent.
  unsigned hop;
  /// Whether sources, or destinations, only pass the pieces on.
  bool fromTransit = false, toTransit = false;
  /// Parallel; of the op that says so.
  llvm::ArrayRef<int64_t> sources, destinations;
};

/// The transfers of a migration, in the order of their ops: those of its
/// `etc.transfers`; where it was not routed, every demand from the first of its
/// holders that is alive.
class TransferTable {
public:
  TransferTable(MigrationOp migration, mlir::AnalysisManager &analyses);

  llvm::ArrayRef<Transfer> getTransfers() const { return transfers; }

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &preserved);

private:
  void addDemands(DemandsOp demands, mlir::AnalysisManager &analyses);

  std::vector<Transfer> transfers;
  /// The sources of what was not routed.
  std::deque<llvm::SmallVector<int64_t>> firstHolders;
};

} // namespace etc

#endif // ETC_ANALYSIS_TRANSFERS_H
