//===- Overlap.cpp - What two roles share ---------------------------------===//

#include "etc/Layout/Layout.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc;
using namespace etc::layout;
using model::Block;

std::optional<unsigned>
etc::layout::sourceTensor(const model::Model &model,
                          const config::Parallelism &prev, unsigned tensor) {
  const model::TensorTemplate &wanted = model.tensors[tensor];
  if (existsOn(wanted, prev))
    return tensor;
  if (wanted.tiedTo.empty())
    return std::nullopt;
  std::optional<unsigned> twin = model.findTensor(wanted.tiedTo);
  if (twin && existsOn(model.tensors[*twin], prev))
    return twin;
  return std::nullopt;
}

int64_t etc::layout::overlapBytes(const model::Model &model,
                                  const config::Parallelism &prev,
                                  Role prevRole,
                                  const config::Parallelism &curr,
                                  Role currRole) {
  Range prevLayers = layersOf(model.layers, prev, prevRole.p);
  int64_t elements = 0;
  for (const Piece &piece : holdings(model, curr, currRole)) {
    std::optional<unsigned> source = sourceTensor(model, prev, piece.tensor);
    if (!source)
      continue;
    const model::TensorTemplate &tensor = model.tensors[*source];
    bool held =
        tensor.block == Block::Layer
            ? piece.layer >= prevLayers.begin && piece.layer < prevLayers.end
            : stageHolds(tensor.block, prev, prevRole.p);
    if (held)
      elements += sharedVolume(piece.box, boxOf(tensor, prev, prevRole.t));
  }
  return elements * model.bytesPerElement();
}

OverlapTable::OverlapTable(const model::Model &model,
                           const config::Parallelism &prev,
                           const config::Parallelism &curr)
    : layers(model.layers), prev(prev), curr(curr) {
  for (unsigned i = 0; i < model.tensors.size(); ++i) {
    const model::TensorTemplate &wanted = model.tensors[i];
    std::optional<unsigned> source = sourceTensor(model, prev, i);
    if (!source || !existsOn(wanted, curr))
      continue;
    const model::TensorTemplate &held = model.tensors[*source];
    Term &term = termFor(held.block, wanted.block);
    for (int64_t s = 0; s < prev.tp; ++s)
      for (int64_t t = 0; t < curr.tp; ++t)
        term.shared[s * curr.tp + t] +=
            model.bytesPerElement() *
            sharedVolume(boxOf(held, prev, s), boxOf(wanted, curr, t));
  }
}

OverlapTable::Term &OverlapTable::termFor(Block from, Block to) {
  auto known = llvm::find_if(terms, [&](const Term &term) {
    return term.from == from && term.to == to;
  });
  if (known != terms.end())
    return *known;
  terms.push_back({from, to, std::vector<int64_t>(prev.tp * curr.tp, 0)});
  return terms.back();
}

int64_t OverlapTable::bytes(Role prevRole, Role currRole) const {
  int64_t sum = 0;
  for (const Term &term : terms) {
    int64_t times = 1;
    if (term.to == Block::Layer)
      times = intersect(layersOf(layers, prev, prevRole.p),
                        layersOf(layers, curr, currRole.p))
                  .size();
    else if (!stageHolds(term.from, prev, prevRole.p) ||
             !stageHolds(term.to, curr, currRole.p))
      times = 0;
    sum += times * term.shared[prevRole.t * curr.tp + currRole.t];
  }
  return sum;
}
