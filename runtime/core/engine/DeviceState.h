// The tensors of one device during a migration.

#ifndef ETC_RUNTIME_CORE_ENGINE_DEVICESTATE_H
#define ETC_RUNTIME_CORE_ENGINE_DEVICESTATE_H

#include "core/journal/HeldShards.h"
#include "core/memory/Allocator.h"
#include "core/pack/Copy.h"

#include "core/plan/PlanIndex.h"

#include <array>
#include <vector>

namespace etc::runtime {

/// Owns the memory of a device's shards: previous, current, and those that it
/// passes on. Everything named by an op of a plan that the referee accepted is
/// there at its time.
class DeviceState {
public:
  DeviceState(const PlanIndex &index, uint32_t program, Allocator &allocator);
  ~DeviceState();
  /// The same memory, of an allocator that is a copy of the other's.
  DeviceState(const DeviceState &other, Allocator &allocator)
      : index(other.index), program(other.program), allocator(allocator),
        sides(other.sides) {}
  DeviceState(const DeviceState &) = delete;
  DeviceState &operator=(const DeviceState &) = delete;

  /// Allocates all previous shards.
  Status allocatePrev();
  /// Takes up what an earlier process left at `standing`, from an allocator
  /// that finds memory by name.
  Status attach(const Standing &standing);
  /// Allocates a shard that is about to be written, unless it has memory.
  Status ensure(Side side, uint32_t tensor);
  /// Makes the previous shard's memory the current shard's. It can still be
  /// read as the previous one.
  void bind(uint32_t tensor);
  void release(Side side, uint32_t tensor) { release(shard(side, tensor)); }
  /// Releases what is left of the previous state, except what is bound.
  void commit();
  /// Releases the memory of current shards, and of those to be passed on, that
  /// holds nothing after an error.
  void releaseAllBut(std::span<const HeldShard> held);

  /// The box of the shard that contains `box`.
  Region around(Side side, uint32_t tensor, BoxView box) const;

  /// Calls visit(tensor, region) for every box of every shard of one side.
  template <typename Visit> Status forEachRegion(Side side, Visit visit) const;

private:
  struct ShardMemory {
    Buffer buffer;
    bool isHeld = false;
    bool isBound = false; // prev only: the current shard owns the memory
  };

  std::span<const plan::Holding> holdings(Side side) const {
    return index.holdings(program, side);
  }
  const std::vector<ShardMemory> &shards(Side side) const {
    return sides[static_cast<size_t>(side)];
  }
  std::vector<ShardMemory> &shards(Side side) {
    return sides[static_cast<size_t>(side)];
  }
  ShardMemory &shard(Side side, uint32_t tensor) {
    return shards(side)[*index.find(program, side, tensor)];
  }
  Status allocate(Side side, size_t position, ShardMemory &shard);
  /// Positions of previous shards, by the round that releases them.
  std::vector<size_t> releaseOrder() const;
  void release(ShardMemory &shard);

  const PlanIndex &index;
  const uint32_t program;
  Allocator &allocator;
  /// By side, parallel to the program's holdings.
  std::array<std::vector<ShardMemory>, 3> sides;
};

template <typename Visit>
Status DeviceState::forEachRegion(Side side, Visit visit) const {
  for (size_t i = 0; i != shards(side).size(); ++i) {
    plan::Holding holding = holdings(side)[i];
    std::byte *data = shards(side)[i].buffer.data;
    for (uint32_t b = 0; b != index.boxCount(holding.shard); ++b) {
      BoxView box = index.shardBox(holding.shard, b);
      if (Status s = visit(holding.tensor, Region{data, box}); !s.ok())
        return s;
      data += volume(box) * index.elementBytes(holding.tensor);
    }
  }
  return Status::success();
}

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_DEVICESTATE_H
