//===- NodeClasses.cpp - Nodes that hold the same roles -------------------===//

#include "NodeClasses.h"

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

NodeClasses::NodeClasses(const Devices &devices) {
  SmallVector<SmallVector<int64_t>> held(devices.getNodeCount());
  for (int64_t device = 0; device < devices.size(); ++device)
    if (int64_t role = devices.getPrevRole(device); role >= 0)
      held[devices.getNode(device)].push_back(role);
  std::map<SmallVector<int64_t>, int64_t> numbers;
  for (SmallVector<int64_t> &list : held) {
    llvm::sort(list);
    list.erase(llvm::unique(list), list.end());
    auto [it, isNew] = numbers.try_emplace(list, roles.size());
    if (isNew)
      roles.push_back(list);
    ofNode.push_back(it->second);
  }
}

/// Positions of `piece` that at least one of `roles` holds.
static int64_t covered(const Holdings &prev, ArrayRef<int64_t> roles,
                       unsigned source, const Piece &piece) {
  SmallVector<std::pair<int64_t, int64_t>> parts;
  for (int64_t role : roles)
    if (const Piece *held = prev.find(role, source, piece.layer)) {
      int64_t begin = std::max(held->begin, piece.begin),
              end = std::min(held->end, piece.end);
      if (begin < end)
        parts.push_back({begin, end});
    }
  llvm::sort(parts);
  int64_t count = 0, next = piece.begin;
  for (auto [begin, end] : parts) {
    count += std::max<int64_t>(0, end - std::max(begin, next));
    next = std::max(next, end);
  }
  return count;
}

SmallVector<int64_t> NodeClasses::bytesOf(const TensorTable &table,
                                          const Holdings &prev,
                                          ArrayRef<Piece> pieces) const {
  SmallVector<int64_t> bytes(roles.size());
  for (const Piece &piece : pieces)
    if (std::optional<unsigned> source = getSource(table, prev, piece.tensor))
      for (auto [node, held] : llvm::zip_equal(bytes, roles))
        node += covered(prev, held, *source, piece) *
                table.getElementsPerPosition(piece.tensor) *
                table.getMovedBytesPerElement();
  return bytes;
}
