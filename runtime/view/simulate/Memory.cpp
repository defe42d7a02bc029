#include "view/simulate/Memory.h"

#include <set>

using namespace etc::runtime;
using etc::plan::Holding;
using etc::plan::PlanIndex;
using etc::plan::Side;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

static uint64_t bytesOf(const PlanIndex &index, uint32_t program, Side side,
                        uint32_t tensor) {
  size_t position = *index.find(program, side, tensor);
  return index.shardBytes(index.holdings(program, side)[position].shard);
}

std::vector<RoundMemory> etc::runtime::memoryOf(const PlanIndex &index,
                                                uint32_t program) {
  const auto &stated = index.program(program);
  std::set<std::pair<Side, uint32_t>> allocated; // side and tensor
  uint64_t live = stated.send_slab() + stated.recv_slab();
  for (Holding holding : index.holdings(program, Side::Prev))
    live += index.shardBytes(holding.shard);
  std::vector<RoundMemory> rounds;
  for (const auto *round : *stated.rounds()) {
    RoundMemory memory;
    for (const Op *op : *round->ops()) {
      if (op->kind() == OpKind::send || op->kind() == OpKind::release)
        continue;
      const Side side = etc::plan::targetSide(*op);
      if (allocated.insert({side, op->tensor()}).second &&
          !index.bindsMemory(program, *op))
        live += bytesOf(index, program, side, op->tensor());
    }
    memory.during = live;
    for (const Op *op : *round->ops())
      if (op->kind() == OpKind::release)
        live -=
            bytesOf(index, program, etc::plan::releasedSide(*op), op->tensor());
    memory.after = live;
    rounds.push_back(memory);
  }
  return rounds;
}
