//===- FoldedIds.cpp - Workload ids that are folded once ------------------===//

#include "FoldedIds.h"

using namespace etc;
using namespace mlir;

bool FoldedIds::Beside::operator==(const Beside &other) const {
  return types == other.types &&
         llvm::equal(pieces, other.pieces,
                     [](const Piece *a, const Piece *b) { return *a == *b; });
}

size_t FoldedIds::Hash::operator()(const Beside &key) const {
  size_t hash = llvm::hash_value(key.types.getAsOpaquePointer());
  for (const Piece *piece : key.pieces)
    hash = hash * 31 + PieceHash()(*piece);
  return hash;
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

FoldedIds::Names FoldedIds::fold(Pieces pieces,
                                 const llvm::SmallBitVector &types) {
  const TypeSet &set = getTypeSet(types);
  const Beside key{set.ofAllTensors ? ArrayAttr() : set.names,
                   std::move(pieces)};
  ArrayAttr &ids = folded[key];
  if (!ids)
    ids = foldWorkloads(
        table, llvm::to_vector(llvm::make_pointee_range(key.pieces)), types);
  return {ids, set.names};
}
