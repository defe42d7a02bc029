//===- Ranks.cpp - Virtual ranks and stages -------------------------------===//

#include "etc/Layout/Layout.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc;
using namespace etc::layout;
using request::Parallelism;
using request::RankOrder;

/// How many ranks of a stage are numbered in a row before the next stage's.
static int64_t ranksInRow(const Parallelism &parallel) {
  return parallel.order == RankOrder::TpCpEpPpDp ? parallel.tp * parallel.cp
                                                 : parallel.stageSize();
}

int64_t etc::layout::rankOf(const Parallelism &parallel, VirtualRank rank) {
  int64_t row = ranksInRow(parallel);
  int64_t i = rank.role.t + parallel.slots() * rank.d;
  return i % row + row * (rank.role.p + parallel.pp * (i / row));
}

VirtualRank etc::layout::virtualRank(const Parallelism &parallel,
                                     int64_t rank) {
  int64_t row = ranksInRow(parallel), slots = parallel.slots();
  int64_t block = rank / row;
  int64_t i = rank % row + row * (block / parallel.pp);
  int64_t d = i / slots;
  return {.role = {.p = block % parallel.pp,
                   .t = i % slots,
                   .d = parallel.hasRanges() ? d : 0},
          .d = d};
}

Span etc::layout::layersOfChunk(int64_t layers, const Parallelism &parallel,
                                int64_t p, int64_t k) {
  int64_t chunk = k * parallel.pp + p;
  if (parallel.stages.empty()) {
    int64_t count = layers / (parallel.pp * parallel.vpp);
    return {chunk * count, (chunk + 1) * count};
  }
  int64_t begin = 0;
  for (int64_t before = 0; before < chunk; ++before)
    begin += parallel.stages[before];
  return {begin, begin + parallel.stages[chunk]};
}

std::vector<Span>
etc::layout::layersOf(int64_t layers, const Parallelism &parallel, int64_t p) {
  std::vector<Span> spans;
  for (int64_t k = 0; k < parallel.vpp; ++k)
    if (Span chunk = layersOfChunk(layers, parallel, p, k); !chunk.empty())
      spans.push_back(chunk);
  return spans;
}

bool etc::layout::chunkHolds(const model::Model &model, model::Block block,
                             const Parallelism &parallel, int64_t p,
                             int64_t k) {
  bool isLast = p == parallel.pp - 1 && k == parallel.vpp - 1;
  switch (block) {
  case model::Block::Embed:
    return p == 0 && k == 0;
  case model::Block::Layer:
    return true;
  case model::Block::Final: {
    bool predictsMore = llvm::any_of(model.tensors, [](const auto &tensor) {
      return tensor.block == model::Block::Mtp;
    });
    Span layers = layersOfChunk(model.layers, parallel, p, k);
    return predictsMore ? !layers.empty() && layers.end == model.layers
                        : isLast;
  }
  case model::Block::Head:
    return isLast;
  case model::Block::Mtp:
    return k == parallel.vpp - 1 &&
           p == (parallel.mtpStage < 0 ? parallel.pp - 1 : parallel.mtpStage);
  }
  return false;
}

bool etc::layout::stageHolds(const model::Model &model, model::Block block,
                             const Parallelism &parallel, int64_t p) {
  for (int64_t k = 0; k < parallel.vpp; ++k)
    if (chunkHolds(model, block, parallel, p, k))
      return true;
  return false;
}
