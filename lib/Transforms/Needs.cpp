//===- Needs.cpp - What a device keeps and what it lacks ------------------===//

#include "Needs.h"

using namespace etc;
using namespace mlir;

NeedsTable::NeedsTable(const TensorTable &table, const Holdings &prev,
                       const Holdings &curr)
    : table(table), prev(prev), curr(curr) {
  std::map<Piece, llvm::SmallVector<int64_t, 0>> roles;
  for (int64_t role = 0; role < prev.size(); ++role)
    for (const Piece &piece : prev[role])
      roles[piece].push_back(role);
  for (auto &[piece, list] : roles)
    holders[keyOf(piece.tensor, piece)].push_back({piece, std::move(list)});
}

/// Cuts a missing piece where its set of holders changes.
void NeedsTable::addMissing(const Piece &piece, unsigned source, Needs &needs,
                            FragmentMap &missing) const {
  needs.lacking.push_back(piece);
  using Held = std::pair<Piece, llvm::SmallVector<int64_t, 0>>;
  llvm::SmallVector<Held, 0> parts = {{piece, {}}}, next;
  if (auto it = holders.find(keyOf(source, piece)); it != holders.end())
    for (const Holder &holder : it->second) {
      if (!intersect(piece, holder.piece))
        continue;
      next.clear();
      for (Held &part : parts) {
        std::optional<Piece> inside = intersect(part.first, holder.piece);
        if (!inside) {
          next.push_back(std::move(part));
          continue;
        }
        for (const Piece &outside : subtract(part.first, *inside))
          next.push_back({outside, part.second});
        llvm::append_range(part.second, holder.roles);
        next.push_back({*inside, std::move(part.second)});
      }
      std::swap(parts, next);
    }
  llvm::SmallVector<unsigned> types(
      table.getMovedTypes(piece.tensor).set_bits());
  for (auto &[part, roles] : parts) {
    llvm::sort(roles);
    missing[{source != piece.tensor, types, roles}].push_back(part);
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

const Needs *NeedsTable::get(int64_t role, int64_t own) {
  auto [it, isNew] = needs.try_emplace({role, own});
  if (!isNew)
    return &it->second;
  FragmentMap missing;
  for (const Piece &piece : curr[role])
    if (!addPiece(piece, own, it->second, missing))
      return nullptr;
  for (auto &[key, pieces] : missing) {
    auto &[tied, types, roles] = key;
    int64_t bytes = 0;
    for (const Piece &piece : pieces)
      bytes += table.getMovedBytes(piece);
    llvm::SmallBitVector typeSet(table.getTypeCount());
    for (unsigned type : types)
      typeSet.set(type);
    it->second.missing.push_back(fragments.size());
    fragments.push_back({pieces, typeSet, tied, roles, bytes});
  }
  return &it->second;
}
