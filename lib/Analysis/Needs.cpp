//===- Needs.cpp - What a device keeps and what it lacks ------------------===//

#include "etc/Analysis/Needs.h"

#include "etc/Analysis/Preserved.h"

using namespace etc;
using llvm::SmallVector;

/// Moves what a device holds of lacking pieces to those that are kept.
static void takeKept(SmallVector<Piece> &lacking, llvm::ArrayRef<Piece> held,
                     SmallVector<Piece, 0> &kept) {
  for (const Piece &one : held) {
    SmallVector<Piece> rest;
    for (const Piece &part : lacking) {
      std::optional<Piece> common = intersect(part, one);
      if (common)
        kept.push_back(*common);
      llvm::append_range(rest, common ? subtract(part, *common)
                                      : SmallVector<Piece>{part});
    }
    lacking = std::move(rest);
  }
}

/// Splits a current piece into what is kept, what is lacking, and what is new.
bool NeedsTable::addPiece(const Piece &piece, int64_t own, Needs &needs) {
  const SmallVector<unsigned, 2> sources =
      getSources(table, prev, piece.tensor);
  if (sources.empty()) {
    unsourced = table.getName(piece);
    return false;
  }
  Piece all =
      table.getWhole(sources.front(), piece.layer, piece.expert, Side::Prev);
  llvm::append_range(needs.zeroed, subtract(piece, all));
  std::optional<Piece> common = intersect(piece, all);
  if (!common)
    return true;
  SmallVector<Piece> lacking = {*common};
  if (own >= 0)
    for (unsigned source : sources)
      takeKept(lacking, prev.find(own, source, piece),
               source == piece.tensor ? needs.kept : needs.keptTied[source]);
  llvm::append_range(needs.lacking, lacking);
  return true;
}

bool NeedsTable::work(llvm::ArrayRef<Piece> pieces, int64_t own, Needs &needs) {
  return llvm::all_of(
      pieces, [&](const Piece &piece) { return addPiece(piece, own, needs); });
}

std::optional<NeedsTable::Parts> NeedsTable::get(int64_t role, int64_t own) {
  // Where both sides have ranges, what a pool shares comes from what a pool
  // shared.
  int64_t pool = curr.getPool(role),
          from = own >= 0 && curr.hasRanges() && !prev.ownsAll()
                     ? prev.getPool(own)
                     : own;
  auto [shared, isNew] = ofPools.try_emplace({pool, from});
  if (isNew && !work(curr.getShared(pool), own, shared->second))
    return std::nullopt;
  auto [range, isFirst] = ofRanges.try_emplace({role, own});
  if (isFirst && !work(curr.getOwn(role), own, range->second))
    return std::nullopt;
  return Parts{&shared->second, &range->second};
}

DeviceNeeds::DeviceNeeds(MigrationOp migration, mlir::AnalysisManager &analyses)
    : devices(analyses.getAnalysis<Devices, MigrationOp>()),
      needs(analyses.getAnalysis<TensorTable, MigrationOp>(),
            analyses.getAnalysis<BothHoldings, MigrationOp>().prev,
            analyses.getAnalysis<BothHoldings, MigrationOp>().curr),
      currRole(devices.size(), -1), parts(devices.size()) {
  ParallelAttr curr = migration.getCurr();
  auto placement = migration.getOnly<PlacementOp>();
  for (auto [rank, device] : llvm::enumerate(placement.getDevices()))
    currRole[device] = placeOfRank(curr, rank).role;
  for (int64_t device = 0; device < devices.size(); ++device)
    if (currRole[device] >= 0) {
      auto found = needs.get(currRole[device], devices.getPrevRole(device));
      if (!found)
        return;
      parts[device] = *found;
    }
}

bool DeviceNeeds::isInvalidated(
    const mlir::AnalysisManager::PreservedAnalyses &preserved) {
  return !arePreserved<DeviceNeeds, TensorTable, BothHoldings, Devices>(
      preserved);
}
