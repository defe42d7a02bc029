//===- Holdings.cpp - What a role holds -----------------------------------===//

#include "etc/Layout/Layout.h"

using namespace etc;
using namespace etc::layout;
using request::Parallelism;

Box etc::layout::boxOf(const model::TensorTemplate &tensor,
                       const Parallelism &parallel, int64_t t) {
  Box box;
  for (int64_t extent : model::shapeOn(tensor, parallel))
    box.push_back({0, extent});
  if (tensor.splitAxis >= 0) {
    int64_t ranks = tensor.ofExpert ? parallel.expertTp() : parallel.tp;
    Range &range = box[tensor.splitAxis];
    int64_t size = range.end / ranks;
    int64_t rank = t % ranks;
    range = {rank * size, (rank + 1) * size};
  }
  return box;
}

/// The pieces of one chunk.
static void appendChunk(const model::Model &model, const Parallelism &parallel,
                        Role role, int64_t k, std::vector<Piece> &pieces) {
  std::vector<FlatPiece> flat;
  if (parallel.distributedOptimizer)
    flat = flatPieces(model, parallel, role, k);
  auto nextFlat = flat.begin();
  for (const Instance &instance :
       instancesOf(model, parallel, role.p, k, role.t)) {
    const model::TensorTemplate &tensor = model.tensors[instance.tensor];
    Box box = boxOf(tensor, parallel, role.t);
    llvm::SmallVector<Box> boxes;
    if (tensor.flat && parallel.distributedOptimizer)
      boxes = flatBoxes(box, (nextFlat++)->range);
    else if (parallel.fsdp > 1)
      boxes = rowShard(tensor, parallel, role);
    else
      boxes.push_back(std::move(box));
    for (Box &part : boxes)
      pieces.push_back(
          {instance.tensor, instance.layer, std::move(part), instance.expert});
  }
}

std::vector<Piece> etc::layout::holdings(const model::Model &model,
                                         const Parallelism &parallel,
                                         Role role) {
  std::vector<Piece> pieces;
  for (int64_t k = 0; k < parallel.vpp; ++k)
    appendChunk(model, parallel, role, k, pieces);
  return pieces;
}

int64_t etc::layout::bytesOf(llvm::ArrayRef<Piece> pieces,
                             const model::Model &model) {
  int64_t bytes = 0;
  for (const Piece &piece : pieces)
    bytes +=
        volume(piece.box) * model.bytesPerElement(model.tensors[piece.tensor]);
  return bytes;
}
