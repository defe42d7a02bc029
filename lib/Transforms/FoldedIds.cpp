//===- FoldedIds.cpp - Workload ids that are folded once ------------------===//

#include "FoldedIds.h"

using namespace etc;
using namespace mlir;

llvm::StringRef FoldedIds::Known::bytes() const {
  return {reinterpret_cast<const char *>(last.data()),
          last.size() * sizeof(const void *)};
}

ArrayAttr FoldedIds::Known::find(const Beside &key) {
  last.assign({key.types.getAsOpaquePointer()});
  last.append(key.pieces.begin(), key.pieces.end());
  const auto found = table.find(
      bytes(), [&](uint32_t place) { return words.data() + place + 1; });
  return found ? ArrayAttr::getFromOpaquePointer(words[*found]) : ArrayAttr();
}

/// Of the key that was not found.
void FoldedIds::Known::add(ArrayAttr ids) {
  table.add(bytes(), words.size());
  words.push_back(ids.getAsOpaquePointer());
  words.insert(words.end(), last.begin(), last.end());
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
  if (ArrayAttr ids = known.find(key))
    return {ids, set.names};
  ArrayAttr &ids = folded[key];
  if (!ids)
    ids = foldWorkloads(
        table, llvm::to_vector(llvm::make_pointee_range(pieces)), types);
  known.add(ids);
  return {ids, set.names};
}
