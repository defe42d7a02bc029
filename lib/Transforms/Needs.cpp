//===- Needs.cpp - What a device keeps and what it lacks ------------------===//

#include "Needs.h"

using namespace etc;
using namespace mlir;

NeedsTable::NeedsTable(const TensorTable &table, const Holdings &prev,
                       const Holdings &curr)
    : table(table), prev(prev), curr(curr) {
  for (int64_t role = 0; role < prev.size(); ++role)
    for (const Piece &piece : prev[role])
      holders[{piece.tensor, piece.layer}].push_back(
          {role, piece.begin, piece.end});
}

/// Cuts a missing piece where its set of holders changes.
void NeedsTable::addMissing(Piece piece, unsigned source, Needs &needs,
                            FragmentMap &missing) const {
  if (piece.begin >= piece.end)
    return;
  needs.lacking.push_back(piece);
  auto it = holders.find({source, piece.layer});
  llvm::SmallVector<int64_t> cuts = {piece.begin, piece.end};
  for (const Holder &holder : it->second)
    for (int64_t cut : {holder.begin, holder.end})
      if (cut > piece.begin && cut < piece.end)
        cuts.push_back(cut);
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  for (auto [begin, end] : llvm::zip(cuts, llvm::drop_begin(cuts))) {
    FragmentKey key{source != piece.tensor, {}};
    for (const Holder &holder : it->second)
      if (holder.begin <= begin && end <= holder.end)
        key.second.push_back(holder.role);
    missing[key].push_back({piece.tensor, piece.layer, begin, end});
  }
}

/// Splits a current piece into what is kept, what is missing, and what is new.
bool NeedsTable::addPiece(const Piece &piece, int64_t own, Needs &needs,
                          FragmentMap &missing) {
  std::optional<unsigned> source = getSource(table, prev, piece.tensor);
  if (!source) {
    unsourced = table.getName(piece);
    return false;
  }
  int64_t extent = table.getExtent(*source, Side::Prev);
  if (piece.end > extent)
    needs.zeroed.push_back(
        {piece.tensor, piece.layer, std::max(piece.begin, extent), piece.end});
  Piece common{piece.tensor, piece.layer, piece.begin,
               std::min(piece.end, extent)};
  if (common.begin >= common.end)
    return true;
  const Piece *held = own < 0 ? nullptr : prev.find(own, *source, piece.layer);
  Piece kept = common;
  if (held) {
    kept.begin = std::max(common.begin, held->begin);
    kept.end = std::min(common.end, held->end);
  }
  if (!held || kept.begin >= kept.end) {
    addMissing(common, *source, needs, missing);
    return true;
  }
  (*source == piece.tensor ? needs.kept : needs.keptTied).push_back(kept);
  addMissing({piece.tensor, piece.layer, common.begin, kept.begin}, *source,
             needs, missing);
  addMissing({piece.tensor, piece.layer, kept.end, common.end}, *source, needs,
             missing);
  return true;
}

const Needs *NeedsTable::get(int64_t role, int64_t own) {
  auto [it, isNew] = needs.try_emplace({role, own});
  if (!isNew)
    return &it->second;
  FragmentMap missing;
  for (const Piece &piece : curr[role])
    if (!addPiece(piece, own, it->second, missing))
      return nullptr;
  for (auto &[key, pieces] : missing) {
    int64_t elements = 0;
    for (const Piece &piece : pieces)
      elements += table.getElements(piece);
    it->second.missing.push_back(fragments.size());
    fragments.push_back({pieces, key.first, key.second,
                         elements * table.getMovedBytesPerElement()});
  }
  return &it->second;
}
