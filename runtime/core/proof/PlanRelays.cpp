// What has to enter nodes where devices pass on.

#include "core/proof/PlanRelays.h"

#include "core/plan/SectionMap.h"

#include <algorithm>
#include <map>

using namespace etc;
using namespace etc::plan;
namespace fb = etc::plan::fb;

namespace {
/// A box that devices have in the end.
struct FinalBox {
  BoxView box;
  uint64_t devices, bytes; ///< bytes of one device
  bool isSeen = false;
};
} // namespace

/// By the tensor whose bytes they are. Tied copies that nobody held are made of
/// their twins; what is cast does not travel.
static std::vector<std::vector<FinalBox>> finalBoxes(const PlanIndex &index) {
  const auto &shards = *index.plan().shards();
  std::vector<uint64_t> devicesOf(shards.size());
  std::vector<bool> hadHolders(index.plan().tensors()->size());
  for (uint32_t p = 0; p != index.programCount(); ++p) {
    for (const Holding &held : index.holdings(p, Side::Prev))
      hadHolders[held.tensor] = true;
    for (const Holding &held : index.holdings(p, Side::Curr))
      devicesOf[held.shard] += index.program(p).devices()->size();
  }
  // Of a plan of lanes, the devices that have the same in all lanes, and the
  // bytes of the parts that lanes have.
  const fb::Lanes *lanes = index.plan().lanes();
  // Of one section of each kind, the bytes of all of them.
  std::optional<SectionMap> sections;
  if (index.plan().sections())
    sections.emplace(index.plan());
  std::vector<std::vector<FinalBox>> boxes(hadHolders.size());
  for (uint32_t shard = 0; shard != shards.size(); ++shard) {
    const uint32_t tensor = shards.Get(shard)->tensor();
    if (!devicesOf[shard] || index.tensor(tensor).is_derived())
      continue;
    const uint32_t source = hadHolders[tensor] ? tensor : index.primary(tensor);
    const uint64_t count = lanes ? lanes->count() : 1;
    const bool isShared = lanes && lanes->axes()->Get(tensor) < 0;
    const int32_t kind = sections ? sections->kindOfTensor(tensor) : -1;
    const uint64_t copies = kind < 0 ? 1 : sections->copies(kind);
    for (uint32_t b = 0; b != index.boxCount(shard); ++b) {
      const BoxView box = index.shardBox(shard, b);
      boxes[source].push_back({box, devicesOf[shard] * (isShared ? count : 1),
                               volume(box) * index.elementBytes(tensor) *
                                   (isShared ? 1 : count) * copies});
    }
  }
  return boxes;
}

/// The boxes that a chain of overlaps connects with one: devices, and the bytes
/// of all of them.
static std::pair<uint64_t, uint64_t> gather(std::vector<FinalBox> &boxes,
                                            size_t first) {
  std::pair<uint64_t, uint64_t> sum;
  std::vector<size_t> open = {first};
  boxes[first].isSeen = true;
  while (!open.empty()) {
    const FinalBox at = boxes[open.back()];
    open.pop_back();
    sum.first += at.devices;
    sum.second += at.devices * at.bytes;
    for (size_t other = 0; other != boxes.size(); ++other)
      if (!boxes[other].isSeen && intersects(at.box, boxes[other].box)) {
        boxes[other].isSeen = true;
        open.push_back(other);
      }
  }
  return sum;
}

uint64_t etc::leastEntering(const PlanIndex &index, uint64_t lacking) {
  const auto &nodes = *index.plan().nodes();
  const uint64_t lanes =
                     index.plan().lanes() ? index.plan().lanes()->count() : 1,
                 largestNode =
                     *std::max_element(nodes.begin(), nodes.end()) * lanes;
  std::map<uint64_t, uint64_t> bytesOf; // by devices of one node that share
  for (std::vector<FinalBox> &boxes : finalBoxes(index))
    for (size_t first = 0; first != boxes.size(); ++first)
      if (!boxes[first].isSeen) {
        auto [devices, bytes] = gather(boxes, first);
        bytesOf[std::min(devices, largestNode)] += bytes;
      }
  uint64_t entering = 0;
  for (auto it = bytesOf.rbegin(); it != bytesOf.rend(); ++it) {
    const uint64_t part = std::min(lacking, it->second);
    entering += part / it->first;
    lacking -= part;
  }
  return entering;
}
