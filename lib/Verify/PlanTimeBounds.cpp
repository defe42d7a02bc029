//===- PlanTimeBounds.cpp - The witnesses of time in a plan file ----------===//
//
// What V15 counts of the IR, by the plan's own shards: what has to cross the
// borders of a witness, and at which rate it can.
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
  using Ranks = std::vector<bool>;                          ///< [rank]

  /// What lanes need alike counts once, unless each needs its own.
  enum class Alike : uint8_t { Once, Each };

  Ranks ranksOf(const flatbuffers::Vector<uint32_t> *devices) const;
  std::set<uint32_t> programsOf(const Ranks &ranks) const;
  uint64_t countLack(const Ranks &needers, const Ranks &holders, bool ofPause,
                     Alike alike = Alike::Once) const;
  uint64_t countRate() const;
  void addBoxes(Side side, const std::set<uint32_t> &programs,
                bool (*counts)(const fb::Tensor &), Marks &marks) const;

  const PlanIndex &index;
  const fb::TimeBound &bound;
  Ranks isInside, isInner;
};

} // namespace

BorderCount::BorderCount(const PlanIndex &index, const fb::TimeBound &bound)
    : index(index), bound(bound), isInside(ranksOf(bound.devices())),
      isInner(ranksOf(bound.inner())) {}

BorderCount::Ranks
BorderCount::ranksOf(const flatbuffers::Vector<uint32_t> *devices) const {
  Ranks ranks(index.rankCount());
  if (devices)
    for (uint32_t device : *devices)
      if (auto rank = index.rankOf(device))
        ranks[*rank] = true;
  return ranks;
}

std::set<uint32_t> BorderCount::programsOf(const Ranks &ranks) const {
  std::set<uint32_t> programs;
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    if (ranks[rank])
      programs.insert(index.participant(rank).program);
  return programs;
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

/// What some ranks need and others did not hold.
uint64_t BorderCount::countLack(const Ranks &needers, const Ranks &holders,
                                bool ofPause, Alike alike) const {
  auto moves = [](const fb::Tensor &t) { return !t.is_derived(); };
  auto movesInPause = [](const fb::Tensor &t) {
    return !t.is_derived() && !t.deferred();
  };
  Marks marks;
  addBoxes(Side::Prev, programsOf(holders), ofPause ? movesInPause : moves,
           marks);
  addBoxes(Side::Curr, programsOf(needers), ofPause ? movesInPause : moves,
           marks);
  // Of a plan of one lane, the parts of all.
  const fb::Lanes *lanes = index.plan().lanes();
  uint64_t bytes = 0;
  for (auto &[tensor, boxes] : marks) {
    const bool isOfAll =
        lanes && (alike == Alike::Each || lanes->axes()->Get(tensor) >= 0);
    bytes += countUncovered(std::move(boxes)) * index.elementBytes(tensor) *
             (isOfAll ? lanes->count() : 1);
  }
  return bytes;
}

/// What only devices of a set held and others need enters the others. A byte
/// that leaves the set and the inner devices may do so at once; each inner
/// device has to receive a byte by itself.
uint64_t BorderCount::countBytes(bool ofPause) const {
  if (bound.outgoing()) {
    Ranks others = isInside, notInner = isInner;
    others.flip();
    notInner.flip();
    uint64_t bytes = countLack(others, others, ofPause);
    if (bound.inner())
      bytes += countLack(notInner, notInner, ofPause) -
               countLack(others, notInner, ofPause);
    return bytes;
  }
  uint64_t bytes = countLack(isInside, isInside, ofPause);
  if (bound.inner())
    bytes -= countLack(isInner, isInside, ofPause);
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    if (isInner[rank]) {
      Ranks alone(index.rankCount());
      alone[rank] = true;
      bytes += countLack(alone, alone, ofPause, Alike::Each);
    }
  return bytes;
}

/// Links lead to further participants of the node, those of inner devices to
/// any, lanes included; NICs lead to other nodes'.
uint64_t BorderCount::countRate() const {
  const fb::Plan &plan = index.plan();
  const fb::Resources &resources = *plan.resources();
  const uint64_t lanes = plan.lanes() ? plan.lanes()->count() : 1;
  std::map<uint32_t, std::vector<uint32_t>> insiders; // by node
  std::map<uint32_t, uint32_t> participants, inner;
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    const uint32_t device = index.device(rank), node = index.nodeOf(device);
    ++participants[node];
    if (isInside[rank])
      insiders[node].push_back(device);
    inner[node] += isInner[rank];
  }
  uint64_t rate = 0;
  uint32_t node = 0, first = 0;
  for (uint64_t size : *plan.nodes()) {
    const std::vector<uint32_t> &devices = insiders[node];
    if (devices.size() < participants[node])
      rate += devices.size() * resources.link_rate();
    else if (participants[node] * lanes > 1)
      rate += inner[node] * resources.link_rate();
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
  return rate * lanes;
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
