//===- PlanTimeBounds.cpp - The witnesses of time in a plan file ----------===//
//
// What V15 counts of the IR, by the plan's own shards: what has to cross the
// border of a witness, and at which rate it can.
//
//===----------------------------------------------------------------------===//

#include "PlanTimeBounds.h"

#include "Uncovered.h"
#include "etc/Verify/PlanCertificates.h"

#include <map>
#include <set>

using namespace etc;
using namespace etc::plan;
namespace fb = etc::plan::fb;

namespace {

class BorderCount {
public:
  BorderCount(const PlanIndex &index, const fb::TimeBound &bound);
  Status check(bool ofPause) const;
  uint64_t countBytes(bool ofPause) const;

private:
  using Marks = std::map<uint32_t, std::vector<Mark<Box>>>; ///< by tensor

  uint64_t countRate() const;
  void addBoxes(Side side, const std::set<uint32_t> &programs,
                bool (*counts)(const fb::Tensor &), Marks &marks) const;

  const PlanIndex &index;
  const fb::TimeBound &bound;
  std::vector<bool> isInside; ///< [rank]
};

} // namespace

BorderCount::BorderCount(const PlanIndex &index, const fb::TimeBound &bound)
    : index(index), bound(bound), isInside(index.rankCount()) {
  for (uint32_t device : *bound.devices())
    if (auto rank = index.rankOf(device))
      isInside[*rank] = true;
}

/// A tied copy and its twin are one tensor. Padding that is new is made, not
/// moved. Roles that hold alike list the same shards.
void BorderCount::addBoxes(Side side, const std::set<uint32_t> &programs,
                           bool (*counts)(const fb::Tensor &),
                           Marks &marks) const {
  std::set<uint32_t> shards;
  for (uint32_t program : programs)
    for (Holding holding : index.holdings(program, side))
      if (counts(index.tensor(holding.tensor)))
        shards.insert(holding.shard);
  for (uint32_t shard : shards) {
    const uint32_t twin =
        index.primary(index.plan().shards()->Get(shard)->tensor());
    const fb::Tensor &source = index.tensor(twin);
    const Box old = boxOfShape(source.prev_shape() ? *source.prev_shape()
                                                   : *source.shape());
    for (uint32_t i = 0; i != index.boxCount(shard); ++i)
      if (auto common = intersect(Box(index.shardBox(shard, i)), old))
        marks[twin].push_back({std::move(*common), side == Side::Curr});
  }
}

/// What only devices of a set held and others need enters the others.
uint64_t BorderCount::countBytes(bool ofPause) const {
  std::set<uint32_t> programs;
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    if (isInside[rank] != bound.outgoing())
      programs.insert(index.participant(rank).program);
  auto moves = [](const fb::Tensor &t) { return !t.is_derived(); };
  auto movesInPause = [](const fb::Tensor &t) {
    return !t.is_derived() && !t.deferred();
  };
  Marks marks;
  for (Side side : {Side::Prev, Side::Curr})
    if (ofPause)
      addBoxes(side, programs, movesInPause, marks);
    else
      addBoxes(side, programs, moves, marks);
  // Of a plan of one lane, the parts of all: what these have alike, they need
  // once.
  const fb::Lanes *lanes = index.plan().lanes();
  uint64_t bytes = 0;
  for (auto &[tensor, boxes] : marks)
    bytes += countUncovered(std::move(boxes)) * index.elementBytes(tensor) *
             (lanes && lanes->axes()->Get(tensor) >= 0 ? lanes->count() : 1);
  return bytes;
}

/// Links lead to further participants of the node, NICs to other nodes'.
uint64_t BorderCount::countRate() const {
  const fb::Plan &plan = index.plan();
  const fb::Resources &resources = *plan.resources();
  std::map<uint32_t, std::vector<uint32_t>> insiders; // by node
  std::map<uint32_t, uint32_t> participants;
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    const uint32_t device = index.device(rank), node = index.nodeOf(device);
    ++participants[node];
    if (isInside[rank])
      insiders[node].push_back(device);
  }
  uint64_t rate = 0;
  uint32_t node = 0, first = 0;
  for (uint64_t size : *plan.nodes()) {
    const std::vector<uint32_t> &devices = insiders[node];
    if (devices.size() < participants[node])
      rate += devices.size() * resources.link_rate();
    if (participants[node] < index.rankCount()) {
      std::set<uint64_t> nics;
      for (uint32_t device : devices)
        nics.insert(std::min<uint64_t>(resources.nics(), size) *
                    (device - first) / size);
      rate += nics.size() * resources.nic_rate();
    }
    first += size;
    ++node;
  }
  return rate * (plan.lanes() ? plan.lanes()->count() : 1);
}

Status BorderCount::check(bool ofPause) const {
  for (uint32_t device : *bound.devices())
    if (!index.rankOf(device))
      return malformed(".devices: device ", device, " takes no part");
  if (const uint64_t rate = countRate(); rate != bound.rate())
    return malformed(".rate: is ", bound.rate(), ", ", rate,
                     " bytes a second can cross");
  if (const uint64_t bytes = countBytes(ofPause); bytes != bound.bytes())
    return malformed(".bytes: is ", bound.bytes(), ", ", bytes,
                     " have to cross");
  return Status::success();
}

Status etc::verifyTimeBounds(const PlanIndex &index) {
  const fb::Plan &plan = index.plan();
  for (auto [name, bound] : {std::pair("time_bound", plan.time_bound()),
                             std::pair("pause_bound", plan.pause_bound())})
    if (bound)
      if (Status s = BorderCount(index, *bound)
                         .check(/*ofPause=*/bound == plan.pause_bound());
          !s.ok())
        return Status(s.kind(), text(name, s.message()));
  return Status::success();
}

uint64_t etc::crossingBytes(const PlanIndex &index, const fb::TimeBound &bound,
                            bool ofPause) {
  return BorderCount(index, bound).countBytes(ofPause);
}
