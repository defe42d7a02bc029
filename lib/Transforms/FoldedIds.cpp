//===- FoldedIds.cpp - Workload ids that are folded once ------------------===//

#include "FoldedIds.h"

using namespace etc;
using namespace mlir;

size_t FoldedIds::Same::operator()(const Beside &key) const {
  return llvm::hash_combine(key.types.getAsOpaquePointer(),
                            llvm::hash_combine_range(key.pieces));
}

bool FoldedIds::Same::operator()(const Beside &a, const Beside &b) const {
  return a.types == b.types && a.pieces == b.pieces;
}

size_t FoldedIds::Equal::operator()(const Beside &key) const {
  size_t hash = llvm::hash_value(key.types.getAsOpaquePointer());
  for (const Piece *piece : key.pieces)
    hash = hash * 31 + PieceHash()(*piece);
  return hash;
}

bool FoldedIds::Equal::operator()(const Beside &a, const Beside &b) const {
  return a.types == b.types &&
         llvm::equal(a.pieces, b.pieces,
                     [](const Piece *x, const Piece *y) { return *x == *y; });
}

const FoldedIds::TypeSet &
FoldedIds::getTypeSet(const llvm::SmallBitVector &types) {
  auto [entry, isNew] = typeSets.try_emplace(types);
  if (isNew) {
    const bool ofAllTensors =
        llvm::none_of(llvm::seq(table.size()), [&](unsigned tensor) {
          return types.test(table.getTypes(tensor)); // one that it lacks
        });
    entry->second = {table.getTypeNames(types), ofAllTensors};
  }
  return entry->second;
}

FoldedIds::Names FoldedIds::fold(const Pieces &pieces,
                                 const llvm::SmallBitVector &types) {
  const TypeSet &set = getTypeSet(types);
  const Beside key{set.ofAllTensors ? ArrayAttr() : set.names, pieces};
  ArrayAttr &ids = known[key];
  if (ids)
    return {ids, set.names};
  ArrayAttr &ofEqual = folded[key];
  if (!ofEqual)
    ofEqual = foldWorkloads(
        table, llvm::to_vector(llvm::make_pointee_range(pieces)), types);
  return {ids = ofEqual, set.names};
}
