#include "core/engine/DeviceState.h"

#include <algorithm>
#include <numeric>
#include <utility>

using namespace etc;
using namespace etc::runtime;

DeviceState::DeviceState(const PlanIndex &index, uint32_t program,
                         Allocator &allocator)
    : index(index), program(program), allocator(allocator) {
  for (Side side : {Side::Prev, Side::Curr, Side::Transit})
    shards(side).resize(holdings(side).size());
}

DeviceState::~DeviceState() {
  commit();
  for (Side side : {Side::Curr, Side::Transit})
    for (ShardMemory &shard : shards(side))
      release(shard);
}

Status DeviceState::allocate(Side side, size_t position, ShardMemory &shard) {
  const etc::plan::Holding holding = holdings(side)[position];
  Result<Buffer> buffer = allocator.allocate(index.shardBytes(holding.shard),
                                             memoryName(side, holding.tensor));
  if (!buffer)
    return buffer.status();
  shard.buffer = *buffer;
  shard.isHeld = true;
  return Status::success();
}

void DeviceState::release(ShardMemory &shard) {
  if (shard.isHeld && !shard.isBound)
    allocator.release(shard.buffer);
  shard = {};
}

std::vector<size_t> DeviceState::releaseOrder() const {
  const auto &rounds = *index.program(program).rounds();
  std::vector<uint32_t> releasedIn(holdings(Side::Prev).size(), rounds.size());
  for (uint32_t round = 0; round != rounds.size(); ++round)
    for (const auto *op : *rounds.Get(round)->ops())
      if (op->kind() == plan::fb::OpKind::release && !op->transit())
        releasedIn[*index.find(program, Side::Prev, op->tensor())] = round;
  std::vector<size_t> order(releasedIn.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return releasedIn[a] < releasedIn[b];
  });
  return order;
}

Status DeviceState::allocatePrev() {
  // Neighbours go together, so that their pages become free.
  for (size_t i : releaseOrder())
    if (Status s = allocate(Side::Prev, i, shards(Side::Prev)[i]); !s.ok())
      return s;
  return Status::success();
}

Status DeviceState::attach(const Standing &standing) {
  for (const HeldShard &held : heldShards(index, program, standing)) {
    if (!allocator.has(memoryName(held)))
      return Status(ErrorKind::Usage,
                    text("the state of ", index.describeTensor(held.tensor),
                         " is gone (", memoryName(held), ")"));
    const Side side = held.isBound ? Side::Prev : held.side;
    size_t position = *index.find(program, side, held.tensor);
    if (Status s = allocate(side, position, shards(side)[position]); !s.ok())
      return s;
    if (held.isBound)
      bind(held.tensor);
  }
  // A process may have died between a note and the release that it announced.
  for (Side side : {Side::Prev, Side::Transit})
    for (size_t i = 0; i != shards(side).size(); ++i)
      if (!shards(side)[i].isHeld)
        allocator.forget(memoryName(side, holdings(side)[i].tensor));
  return Status::success();
}

Status DeviceState::ensure(Side side, uint32_t tensor) {
  size_t position = *index.find(program, side, tensor);
  ShardMemory &shard = shards(side)[position];
  return shard.isHeld ? Status::success() : allocate(side, position, shard);
}

void DeviceState::bind(uint32_t tensor) {
  ShardMemory &from = shard(Side::Prev, tensor);
  if (from.isBound)
    return; // by an op of another box
  shard(Side::Curr, tensor) = from;
  from.isBound = true;
}

void DeviceState::commit() {
  for (ShardMemory &shard : shards(Side::Prev))
    release(shard);
}

void DeviceState::releaseAllBut(std::span<const HeldShard> held) {
  std::vector<std::pair<Side, uint32_t>> kept;
  for (const HeldShard &own : held)
    kept.emplace_back(own.side, own.tensor);
  std::ranges::sort(kept);
  for (Side side : {Side::Curr, Side::Transit})
    for (size_t i = 0; i != shards(side).size(); ++i) {
      const uint32_t tensor = holdings(side)[i].tensor;
      const bool isOf =
          std::ranges::binary_search(kept, std::pair(side, tensor));
      // What a round that did not land has bound is the previous state's.
      const auto before = index.find(program, Side::Prev, tensor);
      const bool isBound =
          side == Side::Curr && before && shards(Side::Prev)[*before].isBound;
      if (!isOf && !isBound)
        release(shards(side)[i]);
    }
}

Region DeviceState::around(Side side, uint32_t tensor, BoxView box) const {
  size_t position = *index.find(program, side, tensor);
  uint32_t shard = holdings(side)[position].shard;
  uint32_t inside = *index.boxAround(shard, box);
  uint64_t before = 0;
  for (uint32_t b = 0; b != inside; ++b)
    before += volume(index.shardBox(shard, b));
  return {shards(side)[position].buffer.data +
              before * index.elementBytes(tensor),
          index.shardBox(shard, inside)};
}
