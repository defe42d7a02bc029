//===- PoolHoldings.cpp - What the replicas of a role hold ----------------===//

#include "etc/Layout/PoolHoldings.h"

#include <algorithm>

using namespace etc;
using namespace etc::layout;
using request::Parallelism;

PoolHoldings::PoolHoldings(const model::Model &model,
                           const Parallelism &parallel, int64_t p, int64_t t)
    : model(model), parallel(parallel), p(p), t(t) {
  for (int64_t k = 0; k < parallel.vpp; ++k)
    addChunk(k);
}

void PoolHoldings::addChunk(int64_t k) {
  std::vector<Numbered> flat;
  for (const Instance &instance : instancesOf(model, parallel, p, k, t)) {
    const model::TensorTemplate &tensor = model.tensors[instance.tensor];
    std::vector<Numbered> &list = parallel.distributedOptimizer && tensor.flat
                                      ? flat
                                  : parallel.fsdp > 1 ? rows
                                                      : shared;
    list.push_back({next++,
                    {instance.tensor, instance.layer,
                     boxOf(tensor, parallel, t), instance.expert}});
  }
  if (parallel.distributedOptimizer)
    chunks.push_back({FlatBuffers(model, parallel, p, t, k), std::move(flat)});
}

std::vector<PoolHoldings::Numbered> PoolHoldings::findOwn(int64_t d) const {
  std::vector<Numbered> own;
  auto add = [&](const Numbered &whole, llvm::SmallVector<Box> boxes) {
    for (Box &part : boxes)
      own.push_back({whole.number,
                     {whole.held.tensor, whole.held.layer, std::move(part),
                      whole.held.expert}});
  };
  for (const Chunk &chunk : chunks)
    for (const auto &[number, span] : chunk.buffers.findParts(d))
      add(chunk.whole[number], flatBoxes(chunk.whole[number].held.box, span));
  for (const Numbered &row : rows)
    add(row, rowShard(model.tensors[row.held.tensor], parallel, {p, t, d}));
  return own;
}

/// The boxes in module order; those of one tensor stay as they are.
template <typename Numbered>
static std::vector<HeldBox> inOrder(std::vector<Numbered> list) {
  std::stable_sort(
      list.begin(), list.end(),
      [](const Numbered &a, const Numbered &b) { return a.number < b.number; });
  std::vector<HeldBox> held;
  held.reserve(list.size());
  for (Numbered &one : list)
    held.push_back(std::move(one.held));
  return held;
}

std::vector<HeldBox> PoolHoldings::getShared() const { return inOrder(shared); }

std::vector<HeldBox> PoolHoldings::getOwn(int64_t d) const {
  return inOrder(findOwn(d));
}

std::vector<HeldBox> PoolHoldings::getAll(int64_t d) const {
  std::vector<Numbered> all = findOwn(d);
  all.insert(all.end(), shared.begin(), shared.end());
  return inOrder(std::move(all));
}
