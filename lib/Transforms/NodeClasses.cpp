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

/// Elements of `piece` that at least one of `roles` holds.
static int64_t covered(const Holdings &prev, ArrayRef<int64_t> roles,
                       unsigned source, const Piece &piece) {
  SmallVector<Piece> rest = {piece};
  for (int64_t role : roles) {
    if (rest.empty())
      break;
    for (const Piece &held : prev.find(role, source, piece)) {
      SmallVector<Piece> next;
      for (const Piece &part : rest)
        llvm::append_range(next, subtract(part, held));
      rest = std::move(next);
    }
  }
  int64_t left = 0;
  for (const Piece &part : rest)
    left += part.size();
  return piece.size() - left;
}

SmallVector<int64_t> NodeClasses::bytesOf(const TensorTable &table,
                                          const Holdings &prev,
                                          ArrayRef<Piece> pieces) const {
  SmallVector<int64_t> bytes(roles.size());
  for (const Piece &piece : pieces)
    if (std::optional<unsigned> source = getSource(table, prev, piece.tensor))
      for (auto [node, held] : llvm::zip_equal(bytes, roles))
        node += covered(prev, held, *source, piece) *
                table.getMovedBytes(piece) / piece.size();
  return bytes;
}
