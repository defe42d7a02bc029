#include "state/source/StateFiles.h"

#include "core/engine/Keeping.h"
#include "state/synthetic/StateCheck.h"

#include <algorithm>

using namespace etc;
using namespace etc::runtime;

DeviceFiles::DeviceFiles(const PlanIndex &index, uint32_t rank,
                         const Standing &standing,
                         const std::string &stateDirectory)
    : index(index), rank(rank),
      allocator(statePath(stateDirectory, index.device(rank))) {
  allocator.keepForLater();
  for (HeldShard &held :
       heldShards(index, index.participant(rank).program, standing))
    shards.push_back({std::move(held), {}});
}

DeviceFiles::~DeviceFiles() {
  for (MappedShard &mapped : shards)
    if (mapped.memory.data)
      allocator.release(mapped.memory);
}

Status DeviceFiles::open() {
  for (MappedShard &mapped : shards) {
    const std::string name = memoryName(mapped.held);
    if (!allocator.has(name))
      return Status(ErrorKind::Usage,
                    text("device ", index.device(rank), ": the state of ",
                         index.describeTensor(mapped.held.tensor), " is gone (",
                         name, ")"));
    Result<Buffer> memory =
        allocator.allocate(index.shardBytes(mapped.held.shard), name);
    if (!memory)
      return memory.status();
    mapped.memory = *memory;
  }
  return Status::success();
}

/// Calls visit(held, region of the shard's box around it, box) for every box.
template <typename Visit> Status DeviceFiles::forEachBox(Visit visit) const {
  for (const MappedShard &mapped : shards)
    for (const Box &box : mapped.held.boxes) {
      const std::byte *data = mapped.memory.data;
      const uint32_t inside = *index.boxAround(mapped.held.shard, box);
      for (uint32_t b = 0; b != inside; ++b)
        data += volume(index.shardBox(mapped.held.shard, b)) *
                index.elementBytes(mapped.held.tensor);
      ConstRegion around{data, index.shardBox(mapped.held.shard, inside)};
      if (Status s = visit(mapped.held, around, box); !s.ok())
        return s;
    }
  return Status::success();
}

Status DeviceFiles::check() const {
  std::vector<std::byte> dense;
  Status status = forEachBox(
      [&](const HeldShard &held, ConstRegion around, BoxView box) -> Status {
        const unsigned size = index.elementBytes(held.tensor);
        dense.resize(volume(box) * size);
        copyBox(around, {dense.data(), box}, box, size);
        return checkRegion(index, held.tensor, held.side, {dense.data(), box});
      });
  return status.at(text("device ", index.device(rank)));
}

std::vector<Box> DeviceFiles::read(const std::string &tensor,
                                   Region region) const {
  std::vector<Box> left{Box(region.box)};
  (void)forEachBox([&](const HeldShard &held, ConstRegion around, BoxView box) {
    if (index.describeTensor(held.tensor) != tensor)
      return Status::success();
    for (const Box &wanted : left)
      if (std::optional<Box> common = intersect(wanted, box))
        copyBox(around, region, *common, index.elementBytes(held.tensor));
    left = subtract(left, box);
    return Status::success();
  });
  return left;
}

bool DeviceFiles::holds(const std::string &tensor, BoxView box) const {
  for (const MappedShard &mapped : shards)
    if (index.describeTensor(mapped.held.tensor) == tensor)
      for (const Box &own : mapped.held.boxes)
        if (intersects(own, box))
          return true;
  return false;
}

Result<std::unique_ptr<LeftState>>
LeftState::open(const PlanIndex &index, const Survivors &survivors,
                const std::string &stateDirectory,
                std::optional<Checkpoint> checkpoint) {
  auto state = std::make_unique<LeftState>();
  state->checkpoint = std::move(checkpoint);
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    if (!survivors[rank])
      continue;
    auto files = std::make_unique<DeviceFiles>(index, rank, *survivors[rank],
                                               stateDirectory);
    if (Status s = files->open(); !s.ok())
      return s;
    state->devices.emplace(index.device(rank), std::move(files));
  }
  return state;
}

Result<uint64_t> LeftState::restore(const PlanIndex &index, uint32_t tensor,
                                    Region region, BoxView box) const {
  const std::string name = index.describeTensor(tensor);
  for (const auto &[device, files] : devices)
    if (files->holds(name, box))
      return Status(ErrorKind::Usage,
                    text("the plan takes ", name, describe(box),
                         " from this device, but device ", device,
                         " holds it; plan from the inventory of what is left"));
  if (checkpoint)
    return checkpoint->read(index, tensor, region, box);
  return Status(ErrorKind::Usage,
                text("the plan takes ", name, describe(box),
                     ", which no device holds; name a checkpoint that has it "
                     "with --restore-from=DIR"));
}

Result<uint64_t> LeftState::read(const PlanIndex &index, uint32_t device,
                                 uint32_t tensor, Region region) const {
  auto found = devices.find(device);
  std::vector<Box> missing{Box(region.box)};
  if (found != devices.end())
    missing = found->second->read(index.describeTensor(tensor), region);
  uint64_t restored = 0;
  for (const Box &box : missing) {
    Result<uint64_t> bytes = restore(index, tensor, region, box);
    if (!bytes)
      return bytes;
    restored += *bytes;
  }
  return restored;
}

Status LeftState::check(const PlanIndex &index, uint32_t, uint32_t tensor,
                        ConstRegion region) const {
  return checkRegion(index, tensor, Side::Curr, region);
}
