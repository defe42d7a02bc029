#include "recovery/Refill.h"

#include "recovery/Making.h"
#include "recovery/Slabs.h"

#include <algorithm>

using namespace etc;
using namespace etc::runtime;

static bool isSame(const plan::fb::Tensor &a, const plan::fb::Tensor &b) {
  return a.name()->string_view() == b.name()->string_view() &&
         a.type()->string_view() == b.type()->string_view();
}

const std::byte *etc::runtime::findWhole(const HeldMemory &held,
                                         const PlanIndex &to, uint32_t tensor,
                                         uint32_t shard) {
  const std::byte *found = nullptr;
  for (const HeldShard &own : held.shards) {
    if (!isSame(held.index->tensor(own.tensor), to.tensor(tensor)))
      continue;
    const uint32_t count = to.boxCount(shard);
    // All of its memory, with nothing that has not landed between.
    bool isWhole =
        count == held.index->boxCount(own.shard) && count == own.boxes.size();
    for (uint32_t b = 0; isWhole && b != count; ++b)
      isWhole = to.shardBox(shard, b) == held.index->shardBox(own.shard, b) &&
                to.shardBox(shard, b) == BoxView(own.boxes[b]);
    if (isWhole && !found)
      found = held.find(own);
  }
  return found;
}

namespace {

/// The moves that fill a region of a tensor from shards of it, of its tied
/// copies and of what it is cast from.
class Refiller {
public:
  Refiller(const HeldMemory &held, uint32_t tensor, Region region)
      : held(held), index(*held.index), tensor(tensor),
        region(region), missing{Box(region.box)} {}

  void take() {
    for (bool isItself : {true, false})
      for (const HeldShard &own : held.shards)
        if ((own.tensor == tensor) == isItself)
          if (auto making = findMaking(index, own.tensor, tensor))
            takeFrom(own, *making);
  }

  const std::vector<Move> &moves() const { return moves_; }
  const std::vector<Box> &left() const { return missing; }

private:
  void takeFrom(const HeldShard &own, Making making) {
    const std::byte *data = held.find(own);
    for (uint32_t b = 0; b != index.boxCount(own.shard); ++b) {
      const BoxView around = index.shardBox(own.shard, b);
      for (const Box &part : own.boxes)
        if (contains(around, part))
          takePart({data, around}, part, making);
      data += volume(around) * index.elementBytes(own.tensor);
    }
  }

  void takePart(ConstRegion from, BoxView part, Making making) {
    for (const Box &box : missing)
      if (std::optional<Box> common = intersect(box, part)) {
        moves_.push_back(
            making == Making::Copy
                ? copyMove(from, region, *common, index.elementBytes(tensor))
                : castMove(from, region, *common,
                           index.tensor(tensor).dtype()));
      }
    missing = subtract(missing, part);
  }

  const HeldMemory &held;
  const PlanIndex &index;
  const uint32_t tensor; // of the held plan
  const Region region;
  std::vector<Move> moves_;
  std::vector<Box> missing;
};

} // namespace

/// Fills what it can of a region, and returns what is left of it.
static Result<std::vector<Box>> takeHeld(const HeldMemory &held,
                                         const PlanIndex &to, uint32_t tensor,
                                         Region region, Worker &worker) {
  if (held.index)
    for (uint32_t t = 0; t != held.index->plan().tensors()->size(); ++t)
      if (isSame(held.index->tensor(t), to.tensor(tensor))) {
        Refiller refiller(held, t, region);
        refiller.take();
        if (Status s = worker.run(refiller.moves(), {}); !s.ok())
          return s;
        return refiller.left();
      }
  return std::vector<Box>{Box(region.box)};
}

/// Copies a packed box to a region of a device, by way of memory there.
static Status upload(ConstRegion packed, Region to, unsigned elementBytes,
                     Worker &worker) {
  constexpr uint64_t kStagedBytes = uint64_t{64} << 20;
  const std::byte *from = packed.data;
  for (const Box &slab :
       cutIntoSlabs(packed.box, kStagedBytes / elementBytes)) {
    const uint64_t bytes = volume(slab) * elementBytes;
    Result<Buffer> staged = worker.allocator().allocate(bytes);
    if (!staged)
      return staged.status();
    const Move move = copyMove({staged->data, slab}, to, slab, elementBytes);
    Status status = worker.upload(staged->data, {from, bytes});
    if (status.ok())
      status = worker.run({&move, 1}, {});
    worker.allocator().release(*staged);
    if (!status.ok())
      return status;
    from += bytes;
  }
  return Status::success();
}

static Result<uint64_t> restore(const BoxSource &checkpoint,
                                const PlanIndex &to, uint32_t tensor,
                                Region region, const Box &box, Worker &worker) {
  if (worker.isHost())
    return checkpoint.read(to, tensor, region, box);
  const unsigned elementBytes = to.elementBytes(tensor);
  std::vector<std::byte> packed(volume(box) * elementBytes);
  Result<uint64_t> bytes =
      checkpoint.read(to, tensor, {packed.data(), box}, box);
  if (!bytes)
    return bytes;
  Status status = upload({packed.data(), box}, region, elementBytes, worker);
  return status.ok() ? bytes : Result<uint64_t>(status);
}

Result<uint64_t> etc::runtime::refill(const HeldMemory &held,
                                      const BoxSource *checkpoint,
                                      const PlanIndex &to, uint32_t tensor,
                                      Region region, Worker &worker) {
  Result<std::vector<Box>> left = takeHeld(held, to, tensor, region, worker);
  if (!left)
    return left.status();
  uint64_t restored = 0;
  for (const Box &box : *left) {
    if (volume(box) == 0)
      continue;
    if (!checkpoint)
      return Status(ErrorKind::Usage,
                    text("the plan takes ", to.describeTensor(tensor),
                         describe(box),
                         " from this device, which does not hold it; plan from "
                         "the recovery's inventory"));
    Result<uint64_t> bytes =
        restore(*checkpoint, to, tensor, region, box, worker);
    if (!bytes)
      return bytes;
    restored += *bytes;
  }
  return restored;
}
