//===- Holdings.cpp - What a role holds -----------------------------------===//

#include "etc/Layout/Layout.h"

using namespace etc;
using namespace etc::layout;

Box etc::layout::boxOf(const model::TensorTemplate &tensor,
                       const config::Parallelism &parallel, int64_t t) {
  Box box;
  for (int64_t extent : model::shapeOn(tensor, parallel))
    box.push_back({0, extent});
  if (tensor.splitAxis >= 0) {
    Range &range = box[tensor.splitAxis];
    int64_t size = range.end / parallel.tp;
    range = {t * size, (t + 1) * size};
  }
  return box;
}

namespace {
/// Collects the pieces of one role, block by block.
class Collector {
public:
  Collector(const model::Model &model, const config::Parallelism &parallel,
            Role role)
      : model(model), parallel(parallel), role(role) {}

  std::vector<Piece> run() {
    add(model::Block::Embed, -1);
    Range layers = layersOf(model.layers, parallel, role.p);
    for (int64_t layer = layers.begin; layer < layers.end; ++layer)
      add(model::Block::Layer, layer);
    add(model::Block::Final, -1);
    add(model::Block::Head, -1);
    return std::move(pieces);
  }

private:
  void add(model::Block block, int64_t layer) {
    if (!stageHolds(block, parallel, role.p))
      return;
    for (unsigned i = 0; i < model.tensors.size(); ++i) {
      const model::TensorTemplate &tensor = model.tensors[i];
      if (tensor.block == block && existsOn(tensor, parallel))
        pieces.push_back({i, layer, boxOf(tensor, parallel, role.t)});
    }
  }

  const model::Model &model;
  const config::Parallelism &parallel;
  Role role;
  std::vector<Piece> pieces;
};
} // namespace

std::vector<Piece> etc::layout::holdings(const model::Model &model,
                                         const config::Parallelism &parallel,
                                         Role role) {
  return Collector(model, parallel, role).run();
}

int64_t etc::layout::bytesOf(llvm::ArrayRef<Piece> pieces,
                             const model::Model &model) {
  int64_t elements = 0;
  for (const Piece &piece : pieces)
    elements += volume(piece.box);
  return elements * model.bytesPerElement();
}
