//===- Needs.cpp - What a device keeps and what it lacks ------------------===//

#include "Needs.h"

using namespace etc;
using namespace mlir;

NeedsTable::NeedsTable(const TensorTable &table, const Holdings &prev,
                       const Holdings &curr)
    : table(table), prev(prev), curr(curr), holders(prev) {}

/// Cuts a missing piece where its set of holders changes.
void NeedsTable::addMissing(const Piece &piece, unsigned source, Needs &needs,
                            FragmentMap &missing) const {
  needs.lacking.push_back(piece);
  using Held = std::pair<Piece, llvm::SmallVector<Holder, 0>>;
  llvm::SmallVector<Held, 0> parts = {{piece, {}}}, next;
  for (const HolderIndex::Entry &entry : holders.find(source, piece)) {
    if (!intersect(piece, entry.piece))
      continue;
    next.clear();
    for (Held &part : parts) {
      std::optional<Piece> inside = intersect(part.first, entry.piece);
      if (!inside) {
        next.push_back(std::move(part));
        continue;
      }
      for (const Piece &outside : subtract(part.first, *inside))
        next.push_back({outside, part.second});
      llvm::append_range(part.second, entry.holders);
      next.push_back({*inside, std::move(part.second)});
    }
    std::swap(parts, next);
  }
  llvm::SmallVector<unsigned> types(
      table.getMovedTypes(piece.tensor).set_bits());
  for (auto &[part, list] : parts) {
    llvm::sort(list);
    missing[{source != piece.tensor, types, list}].push_back(part);
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
  Piece all = table.getWhole(*source, piece.layer, piece.expert, Side::Prev);
  llvm::append_range(needs.zeroed, subtract(piece, all));
  std::optional<Piece> common = intersect(piece, all);
  if (!common)
    return true;
  llvm::SmallVector<Piece> lacking = {*common};
  if (own >= 0)
    for (const Piece &held : prev.find(own, *source, piece)) {
      llvm::SmallVector<Piece> rest;
      for (const Piece &part : lacking) {
        std::optional<Piece> kept = intersect(part, held);
        if (kept)
          (*source == piece.tensor ? needs.kept : needs.keptTied)
              .push_back(*kept);
        llvm::append_range(rest, kept ? subtract(part, *kept)
                                      : llvm::SmallVector<Piece>{part});
      }
      lacking = std::move(rest);
    }
  for (const Piece &part : lacking)
    addMissing(part, *source, needs, missing);
  return true;
}

bool NeedsTable::work(llvm::ArrayRef<Piece> pieces, int64_t own,
                      Needs &result) {
  FragmentMap missing;
  for (const Piece &piece : pieces)
    if (!addPiece(piece, own, result, missing))
      return false;
  for (auto &[key, parts] : missing) {
    auto &[tied, types, list] = key;
    int64_t bytes = 0;
    for (const Piece &piece : parts)
      bytes += table.getMovedBytes(piece);
    llvm::SmallBitVector typeSet(table.getTypeCount());
    for (unsigned type : types)
      typeSet.set(type);
    result.missing.push_back(fragments.size());
    fragments.push_back({parts, typeSet, tied, list, bytes});
  }
  return true;
}

std::optional<NeedsTable::Parts> NeedsTable::get(int64_t role, int64_t own) {
  // Where both sides have ranges, what a pool shares comes from what a pool
  // shared.
  int64_t pool = curr.getPool(role),
          from = own >= 0 && curr.hasRanges() && !prev.isInventory()
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
