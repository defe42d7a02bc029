#include "recovery/Refill.h"

#include "recovery/Making.h"

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

/// Fills a region of a tensor from shards of it, of its tied copies and of what
/// it is cast from.
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
        if (making == Making::Copy)
          copyBox(from, region, *common, index.elementBytes(tensor));
        else
          castBox(from, region, *common, index.tensor(tensor).dtype());
      }
    missing = subtract(missing, part);
  }

  const HeldMemory &held;
  const PlanIndex &index;
  const uint32_t tensor; // of the held plan
  const Region region;
  std::vector<Box> missing;
};

} // namespace

/// Fills what it can of a region, and returns what is left of it.
static std::vector<Box> takeHeld(const HeldMemory &held, const PlanIndex &to,
                                 uint32_t tensor, Region region) {
  if (held.index)
    for (uint32_t t = 0; t != held.index->plan().tensors()->size(); ++t)
      if (isSame(held.index->tensor(t), to.tensor(tensor))) {
        Refiller refiller(held, t, region);
        refiller.take();
        return refiller.left();
      }
  return {Box(region.box)};
}

Result<uint64_t> etc::runtime::refill(const HeldMemory &held,
                                      const BoxSource *checkpoint,
                                      const PlanIndex &to, uint32_t tensor,
                                      Region region) {
  uint64_t restored = 0;
  for (const Box &box : takeHeld(held, to, tensor, region)) {
    if (volume(box) == 0)
      continue;
    if (!checkpoint)
      return Status(ErrorKind::Usage,
                    text("the plan takes ", to.describeTensor(tensor),
                         describe(box),
                         " from this device, which does not hold it; plan from "
                         "the recovery's inventory"));
    Result<uint64_t> bytes = checkpoint->read(to, tensor, region, box);
    if (!bytes)
      return bytes;
    restored += *bytes;
  }
  return restored;
}
