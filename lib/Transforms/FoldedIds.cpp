//===- FoldedIds.cpp - Workload ids that are folded once ------------------===//

#include "FoldedIds.h"

using namespace etc;
using namespace mlir;

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

FoldedIds::Names FoldedIds::fold(ArrayRef<const Piece *> pieces,
                                 const llvm::SmallBitVector &types) {
  const TypeSet &set = getTypeSet(types);
  key.assign({set.ofAllTensors ? nullptr : set.names.getAsOpaquePointer()});
  key.append(pieces.begin(), pieces.end());
  const llvm::StringRef bytes(reinterpret_cast<const char *>(key.data()),
                              key.size() * sizeof(const void *));
  const auto place = known.find(
      bytes, [&](uint32_t place) { return words.data() + place + 1; });
  if (place)
    return {ArrayAttr::getFromOpaquePointer(words[*place]), set.names};
  const ArrayAttr ids = foldWorkloads(
      table, llvm::to_vector(llvm::make_pointee_range(pieces)), types);
  known.add(bytes, words.size());
  words.push_back(ids.getAsOpaquePointer());
  words.insert(words.end(), key.begin(), key.end());
  return {ids, set.names};
}
