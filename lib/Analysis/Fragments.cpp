//===- Fragments.cpp - What a device can get from one source --------------===//

#include "etc/Analysis/Fragments.h"

#include "etc/Analysis/MigrationFleet.h"

using namespace etc;

namespace {
struct HeldPart {
  Piece piece;
  llvm::SmallVector<Holder, 0> holders;
};
} // namespace

/// Of what holders have of a lacking piece, the parts whose holders are the
/// same.
static llvm::SmallVector<HeldPart, 0>
cutByHolders(const Piece &piece, llvm::ArrayRef<HolderIndex::Entry> entries) {
  llvm::SmallVector<HeldPart, 0> parts = {{piece, {}}}, next;
  for (const HolderIndex::Entry &entry : entries) {
    if (!intersects(piece, entry.piece))
      continue;
    // Mostly an entry has all of what is lacking.
    if (contains(entry.piece, piece)) {
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

void FragmentTable::addLacking(const Piece &piece, PiecesByKey &byKey,
                               Last &last) const {
  // The pass that asks has checked that there is one.
  const unsigned source =
      getSource(table, prev, piece.tensor).value_or(piece.tensor);
  for (HeldPart &part : cutByHolders(piece, holders.find(source, piece))) {
    // Not llvm::sort, which takes qsort for what is trivially copied.
    std::sort(part.holders.begin(), part.holders.end());
    const bool isLikeLast = last.entry && last.tensor == piece.tensor &&
                            std::get<2>(last.entry->first) == part.holders;
    if (!isLikeLast) {
      llvm::SmallVector<unsigned> types(
          table.getMovedTypes(piece.tensor).set_bits());
      Key key(source != piece.tensor, std::move(types),
              std::move(part.holders));
      last = {piece.tensor, &*byKey.try_emplace(std::move(key)).first};
    }
    last.entry->second.push_back(part.piece);
  }
}

llvm::ArrayRef<Fragment> FragmentTable::get(const Needs &needs) {
  auto [entry, isNew] = ofNeeds.try_emplace(&needs);
  std::vector<Fragment> &fragments = entry->second;
  if (!isNew)
    return fragments;
  PiecesByKey byKey;
  Last last;
  for (const Piece &piece : needs.lacking)
    addLacking(piece, byKey, last);
  for (auto &[key, pieces] : byKey) {
    auto &[tied, numbers, holders] = key;
    int64_t bytes = 0;
    for (const Piece &piece : pieces)
      bytes += table.getMovedBytes(piece);
    llvm::SmallBitVector types(table.getTypeCount());
    for (unsigned type : numbers)
      types.set(type);
    const int64_t unit =
        table.getMovedBytes(pieces.front()) / pieces.front().size();
    fragments.push_back({pieces, types, tied, holders, bytes, unit});
  }
  return fragments;
}

/// What ids name, tensor by tensor; parts of one tensor in the order of the
/// ids.
static llvm::SmallVector<Piece, 0>
listInOrder(mlir::ArrayAttr ids, const llvm::SmallBitVector &types,
            const TensorTable &table) {
  llvm::SmallVector<Piece> pieces = table.expand(ids, types);
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece &a, const Piece &b) {
                     return std::tie(a.tensor, a.layer, a.expert) <
                            std::tie(b.tensor, b.layer, b.expert);
                   });
  return {pieces.begin(), pieces.end()};
}

mlir::ArrayAttr etc::foldInOrder(const Fragment &fragment,
                                 const TensorTable &table) {
  llvm::ArrayRef<Piece> pieces = fragment.pieces;
  mlir::ArrayAttr folded =
      foldWorkloads(table, llvm::to_vector(pieces), fragment.types);
  const bool isInParts = std::adjacent_find(pieces.begin(), pieces.end(),
                                            [](const Piece &a, const Piece &b) {
                                              return a.isOfSame(b);
                                            }) != pieces.end();
  if (!isInParts || listInOrder(folded, fragment.types, table) == pieces)
    return folded;
  llvm::SmallVector<mlir::Attribute> ids;
  for (const Piece &piece : pieces)
    llvm::append_range(ids, foldWorkloads(table, {piece}, fragment.types));
  return mlir::ArrayAttr::get(folded.getContext(), ids);
}

Fragment etc::inTypes(Fragment fragment, const llvm::SmallBitVector &types,
                      const TensorTable &table) {
  fragment.types &= types;
  fragment.unit = fragment.bytes = 0;
  for (unsigned type : fragment.types.set_bits())
    fragment.unit += table.getTypeBytes(type);
  for (const Piece &piece : fragment.pieces)
    fragment.bytes += piece.size() * fragment.unit;
  return fragment;
}

Fragment etc::readFragment(DemandOp op, const TensorTable &table) {
  const llvm::SmallBitVector types = table.getTypes(op.getWt());
  return inTypes({listInOrder(op.getWid(), types, table), types, op.getTied(),
                  readHolders(op), 0, 0},
                 types, table);
}
