#include "engine/StateFiles.h"

#include "pack/Parts.h"

#include "engine/Keeping.h"
#include "engine/StateCheck.h"

#include <algorithm>

using namespace etc::runtime;

DeviceFiles::DeviceFiles(const PlanIndex &index, uint32_t rank,
                         const Standing &standing,
                         const std::string &stateDirectory)
    : index(index), rank(rank),
      allocator(statePath(stateDirectory, index.device(rank))) {
  allocator.keepForLater();
  for (Piece &piece : piecesOf(index, index.place(rank).program, standing))
    pieces.push_back({std::move(piece), {}});
}

DeviceFiles::~DeviceFiles() {
  for (MappedPiece &mapped : pieces)
    if (mapped.memory.data)
      allocator.release(mapped.memory);
}

Status DeviceFiles::open() {
  for (MappedPiece &mapped : pieces) {
    const std::string name = memoryName(mapped.piece);
    if (!allocator.has(name))
      return Status(ErrorKind::Usage,
                    text("device ", index.device(rank), ": the state of ",
                         index.describeTensor(mapped.piece.tensor),
                         " is gone (", name, ")"));
    Result<Buffer> memory =
        allocator.allocate(index.shardBytes(mapped.piece.shard), name);
    if (!memory)
      return memory.status();
    mapped.memory = *memory;
  }
  return Status::success();
}

/// Calls visit(piece, region of the shard's box around it, box) for every box.
template <typename Visit> Status DeviceFiles::forEachBox(Visit visit) const {
  for (const MappedPiece &mapped : pieces)
    for (const std::vector<int64_t> &bounds : mapped.piece.boxes) {
      const std::byte *data = mapped.memory.data;
      const uint32_t inside = *index.boxAround(mapped.piece.shard, Box(bounds));
      for (uint32_t b = 0; b != inside; ++b)
        data += index.shardBox(mapped.piece.shard, b).volume() *
                index.elementBytes(mapped.piece.tensor);
      ConstRegion around{data, index.shardBox(mapped.piece.shard, inside)};
      if (Status s = visit(mapped.piece, around, Box(bounds)); !s.ok())
        return s;
    }
  return Status::success();
}

Status DeviceFiles::check() const {
  std::vector<std::byte> dense;
  Status status = forEachBox([&](const Piece &piece, ConstRegion around,
                                 Box box) -> Status {
    const unsigned size = index.elementBytes(piece.tensor);
    dense.resize(box.volume() * size);
    copyBox(around, {dense.data(), box}, box, size);
    return checkRegion(index, piece.tensor, piece.side, {dense.data(), box});
  });
  return status.at(text("device ", index.device(rank)));
}

std::vector<std::vector<int64_t>> DeviceFiles::read(const std::string &tensor,
                                                    Region region) const {
  std::vector<std::vector<int64_t>> left{
      {region.box.bounds().begin(), region.box.bounds().end()}};
  (void)forEachBox([&](const Piece &piece, ConstRegion around, Box box) {
    if (index.describeTensor(piece.tensor) != tensor)
      return Status::success();
    std::vector<std::vector<int64_t>> rest;
    for (const std::vector<int64_t> &wanted : left) {
      if (!intersects(Box(wanted), box)) {
        rest.push_back(wanted);
        continue;
      }
      std::vector<int64_t> common = intersection(Box(wanted), box);
      copyBox(around, region, Box(common), index.elementBytes(piece.tensor));
      for (std::vector<int64_t> &outside : subtract(Box(wanted), Box(common)))
        rest.push_back(std::move(outside));
    }
    left = std::move(rest);
    return Status::success();
  });
  return left;
}

bool DeviceFiles::holds(const std::string &tensor, Box box) const {
  for (const MappedPiece &mapped : pieces)
    if (index.describeTensor(mapped.piece.tensor) == tensor)
      for (const std::vector<int64_t> &bounds : mapped.piece.boxes)
        if (intersects(Box(bounds), box))
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
                                    Region region, Box box) const {
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
  std::vector<std::vector<int64_t>> missing{
      {region.box.bounds().begin(), region.box.bounds().end()}};
  if (found != devices.end())
    missing = found->second->read(index.describeTensor(tensor), region);
  uint64_t restored = 0;
  for (const std::vector<int64_t> &box : missing) {
    Result<uint64_t> bytes = restore(index, tensor, region, Box(box));
    if (!bytes)
      return bytes;
    restored += *bytes;
  }
  return restored;
}
