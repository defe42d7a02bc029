//===- FoldedIds.cpp - Workload ids that are folded once ------------------===//

#include "FoldedIds.h"

using namespace etc;
using namespace mlir;

const FoldedIds::TypeSet &
FoldedIds::getTypeSet(const llvm::SmallBitVector &types) {
  const auto *known = llvm::find_if(
      typeSets, [&](const TypeSet &set) { return set.types == types; });
  if (known != typeSets.end())
    return *known;
  const bool isOfAllTensors =
      llvm::none_of(llvm::seq(table.size()), [&](unsigned tensor) {
        return types.test(table.getTypes(tensor)); // one that it lacks
      });
  const auto number = static_cast<uint32_t>(typeSets.size() + 1);
  return typeSets.emplace_back(
      TypeSet{types, table.getTypeNames(types), isOfAllTensors ? 0 : number});
}

FoldedIds::Names FoldedIds::fold(ArrayRef<uint32_t> numbers,
                                 const llvm::SmallBitVector &types) {
  const TypeSet &set = getTypeSet(types);
  key.assign({set.number});
  key.append(numbers.begin(), numbers.end());
  const llvm::StringRef bytes(reinterpret_cast<const char *>(key.data()),
                              key.size() * sizeof(uint32_t));
  const auto next = static_cast<uint32_t>(words.size());
  const uint32_t place = known.findOrAdd(
      bytes, next, [&](uint32_t place) { return words.data() + place + 1; });
  if (place != next)
    return {ids[words[place]], set.names};
  SmallVector<Piece> pieces;
  for (uint32_t number : numbers)
    pieces.push_back(parts.getPiece(number));
  words.push_back(ids.size());
  words.insert(words.end(), key.begin(), key.end());
  ids.push_back(foldWorkloads(table, std::move(pieces), types));
  return {ids.back(), set.names};
}
