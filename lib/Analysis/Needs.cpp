//===- Needs.cpp - What a device keeps and what it lacks ------------------===//

#include "etc/Analysis/Needs.h"

using namespace etc;
using namespace mlir;

namespace {
struct HeldPart {
  Piece piece;
  llvm::SmallVector<Holder, 0> holders;
};
} // namespace

NeedsTable::NeedsTable(const TensorTable &table, const Holdings &prev,
                       const Holdings &curr)
    : table(table), prev(prev), curr(curr), holders(prev) {}

/// Of what holders have of a missing piece, the parts whose holders are the
/// same.
static llvm::SmallVector<HeldPart, 0>
cutByHolders(const Piece &piece, llvm::ArrayRef<HolderIndex::Entry> entries) {
  llvm::SmallVector<HeldPart, 0> parts = {{piece, {}}}, next;
  for (const HolderIndex::Entry &entry : entries) {
    if (!intersect(piece, entry.piece))
      continue;
    // Mostly an entry has all of what is missing.
    if (entry.piece.covers(piece)) {
      for (HeldPart &part : parts)
        llvm::append_range(part.holders, entry.holders);
      continue;
    }
    next.clear();
    for (HeldPart &part : parts) {
      std::optional<Piece> inside = intersect(part.piece, entry.piece);
      if (!inside) {
        next.push_back(std::move(part));
        continue;
      }
      for (const Piece &outside : subtract(part.piece, *inside))
        next.push_back({outside, part.holders});
      llvm::append_range(part.holders, entry.holders);
      next.push_back({*inside, std::move(part.holders)});
    }
    std::swap(parts, next);
  }
  return parts;
}

void NeedsTable::addMissing(const Piece &piece, unsigned source, Needs &needs,
                            FragmentMap &missing) const {
  needs.lacking.push_back(piece);
  llvm::SmallVector<unsigned> types(
      table.getMovedTypes(piece.tensor).set_bits());
  for (HeldPart &part : cutByHolders(piece, holders.find(source, piece))) {
    // Not llvm::sort, which takes qsort for what is trivially copied.
    std::sort(part.holders.begin(), part.holders.end());
    missing[{source != piece.tensor, types, std::move(part.holders)}].push_back(
        part.piece);
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
    const int64_t unit =
        table.getMovedBytes(parts.front()) / parts.front().size();
    fragments.push_back({parts, typeSet, tied, list, bytes, unit});
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
