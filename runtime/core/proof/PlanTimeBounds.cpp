// The witnesses of time in a plan file.
//
// What V15 counts of the IR, by the plan's own shards: what has to cross the
// borders of a witness, or the tolls that have to be paid.

#include "core/proof/PlanTimeBounds.h"

#include "core/plan/PlanTolls.h"
#include "core/plan/TimeBound.h"
#include "core/proof/PlanCertificates.h"
#include "etc/Elements.h"

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
  using Counts = bool (*)(const fb::Tensor &);

  /// What lanes need alike counts once, unless each needs its own.
  enum class Alike : uint8_t { Once, Each };

  Ranks ranksOf(const flatbuffers::Vector<uint32_t> *devices) const;
  std::set<uint32_t> programsOf(const Ranks &ranks) const;
  uint64_t countLack(const Ranks &needers, const Ranks &holders, bool ofPause,
                     Alike alike = Alike::Once) const;
  uint64_t countLeaving(bool ofPause) const;
  uint64_t countTolls(bool ofPause) const;
  Status checkTolls() const;
  uint64_t bytesOf(uint32_t tensor, uint64_t elements, Alike alike) const;
  static Counts countsOf(bool ofPause);
  void addBoxes(Side side, const std::set<uint32_t> &programs, Counts counts,
                int32_t group, Marks &marks) const;

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
                           Counts counts, int32_t group, Marks &marks) const {
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
        marks[twin].push_back({std::move(*common), side == Side::Curr, group});
  }
}

/// Which tensors a bound of all that moves or of the pause counts.
BorderCount::Counts BorderCount::countsOf(bool ofPause) {
  if (ofPause)
    return [](const fb::Tensor &t) { return !t.is_derived() && !t.deferred(); };
  return [](const fb::Tensor &t) { return !t.is_derived(); };
}

/// Of a plan of one lane, the parts of all.
uint64_t BorderCount::bytesOf(uint32_t tensor, uint64_t elements,
                              Alike alike) const {
  const fb::Lanes *lanes = index.plan().lanes();
  const bool isOfAll =
      lanes && (alike == Alike::Each || lanes->axes()->Get(tensor) >= 0);
  return elements * index.elementBytes(tensor) * (isOfAll ? lanes->count() : 1);
}

/// What some ranks need and others did not hold.
uint64_t BorderCount::countLack(const Ranks &needers, const Ranks &holders,
                                bool ofPause, Alike alike) const {
  Marks marks;
  addBoxes(Side::Prev, programsOf(holders), countsOf(ofPause), 0, marks);
  addBoxes(Side::Curr, programsOf(needers), countsOf(ofPause), 0, marks);
  uint64_t bytes = 0;
  for (auto &[tensor, boxes] : marks)
    bytes += bytesOf(tensor, countUncovered(std::move(boxes)), alike);
  return bytes;
}

/// A group each of inner devices, of the others of a node, and of all outside.
uint64_t BorderCount::countLeaving(bool ofPause) const {
  LeavingGroups groups;
  std::map<int32_t, std::set<uint32_t>> programs; // by group
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    const uint32_t device = index.device(rank);
    const int32_t group =
        isInside[rank] ? groups.of(index.nodeOf(device), device, isInner[rank])
                       : LeavingGroups::kOutside;
    programs[group].insert(index.participant(rank).program);
  }
  groups.finish();
  Marks marks;
  for (const auto &[group, its] : programs)
    for (Side side : {Side::Prev, Side::Curr})
      addBoxes(side, its, countsOf(ofPause), group, marks);
  uint64_t bytes = 0;
  for (auto &[tensor, boxes] : marks)
    bytes += bytesOf(
        tensor,
        countElements(std::move(boxes),
                      [&](const auto &open) { return groups.leaves(open); }),
        Alike::Once);
  return bytes;
}

/// A group each of all ranks.
uint64_t BorderCount::countTolls(bool ofPause) const {
  const TollCount tolls = tollsOf(index, *bound.tolls());
  Marks marks;
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    for (Side side : {Side::Prev, Side::Curr})
      addBoxes(side, {index.participant(rank).program}, countsOf(ofPause),
               static_cast<int32_t>(rank), marks);
  uint64_t bytes = 0;
  for (auto &[tensor, boxes] : marks)
    bytes += bytesOf(tensor,
                     countElements(std::move(boxes),
                                   [&](const auto &open) {
                                     return countTollsOf(open, tolls);
                                   }),
                     Alike::Once);
  return bytes;
}

/// Each inner device has to receive a byte by itself.
uint64_t BorderCount::countBytes(bool ofPause) const {
  if (bound.tolls())
    return countTolls(ofPause);
  if (bound.outgoing())
    return countLeaving(ofPause);
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

Status BorderCount::checkTolls() const {
  if (index.rankCount() > TollCount::kMostDevices)
    return malformed(".tolls: ", index.rankCount(),
                     " devices take part, at most ", TollCount::kMostDevices,
                     " may");
  for (auto [name, list] :
       {std::pair(".tolls.links_out", bound.tolls()->links_out()),
        std::pair(".tolls.links_in", bound.tolls()->links_in())})
    if (list)
      for (uint32_t device : *list)
        if (!index.rankOf(device))
          return malformed(name, ": device ", device, " takes no part");
  const TollEnds ends(*bound.tolls());
  if (const uint64_t rate = ends.rate(*index.plan().resources());
      rate != bound.rate())
    return malformed(".rate: is ", bound.rate(), ", ", rate,
                     " bytes a second take tolls");
  return Status::success();
}

Status BorderCount::check(bool ofPause) const {
  if (bound.tolls()) {
    if (Status s = checkTolls(); !s.ok())
      return s;
    if (const uint64_t bytes = countTolls(ofPause); bytes != bound.bytes())
      return malformed(".bytes: is ", bound.bytes(), ", ", bytes,
                       " tolls are paid");
    return Status::success();
  }
  for (uint32_t device : *bound.devices())
    if (!index.rankOf(device))
      return malformed(".devices: device ", device, " takes no part");
  const Border border = borderOf(index, bound);
  if (!border.findEnds(index, bound.rate()))
    return malformed(".rate: is ", bound.rate(), ", ",
                     Border::rateOf(index, {&border.own, &border.own}),
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
