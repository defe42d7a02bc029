#include "core/journal/HeldShards.h"

#include <algorithm>
#include <map>

using namespace etc;
using namespace etc::runtime;
using etc::plan::Holding;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

std::string etc::runtime::memoryName(Side side, uint32_t tensor) {
  switch (side) {
  case Side::Prev:
    return text("prev-", tensor);
  case Side::Curr:
    return text("curr-", tensor);
  case Side::Transit:
    break;
  }
  return text("transit-", tensor);
}

std::string etc::runtime::memoryName(const HeldShard &shard) {
  return memoryName(shard.isBound ? Side::Prev : shard.side, shard.tensor);
}

bool etc::runtime::isReleased(const PlanIndex &index, uint32_t program,
                              uint32_t tensor, uint32_t rounds) {
  const auto &list = *index.program(program).rounds();
  for (uint32_t r = 0; r != std::min<uint32_t>(rounds, list.size()); ++r)
    for (const Op *op : *list.Get(r)->ops())
      if (op->kind() == OpKind::release && op->tensor() == tensor &&
          !op->transit())
        return true;
  return false;
}

namespace {

/// Collects what one device holds, by side and tensor.
class Collector {
public:
  Collector(const PlanIndex &index, uint32_t program, const Standing &standing)
      : index(index), program(program), standing(standing) {}

  std::vector<HeldShard> collect() {
    const uint32_t rounds = index.program(program).rounds()->size();
    const bool isNew = standing.isCommitted || standing.isDecided;
    if (!standing.isRolledBack)
      for (uint32_t r = 0;
           r != (isNew ? rounds : std::min(standing.landed, rounds)); ++r)
        for (const Op *op : *index.program(program).rounds()->Get(r)->ops())
          land(*op);
    dropPassedOn(isNew ? rounds : std::min(standing.acknowledged, rounds));
    std::vector<HeldShard> held;
    if (standing.isFilled && !isNew)
      addPrevious(held);
    for (auto *shards : {&current, &transit})
      for (auto &[tensor, shard] : *shards) {
        simplify(shard);
        held.push_back(std::move(shard));
      }
    return held;
  }

private:
  void land(const Op &op) {
    if (op.kind() == OpKind::send || op.kind() == OpKind::release)
      return;
    const Side side = plan::targetSide(op);
    auto [entry, isNew] =
        (op.transit() ? transit : current).try_emplace(op.tensor());
    HeldShard &shard = entry->second;
    if (isNew) {
      size_t position = *index.find(program, side, op.tensor());
      shard.side = side;
      shard.tensor = op.tensor();
      shard.shard = index.holdings(program, side)[position].shard;
    }
    if (shard.isBound)
      return;
    if (!index.bindsMemory(program, op)) {
      shard.boxes.push_back(Box(index.opBox(op)));
      return;
    }
    // All of it is there, also what later rounds refer to.
    shard.isBound = true;
    for (uint32_t b = 0; b != index.boxCount(shard.shard); ++b)
      shard.boxes.push_back(Box(index.shardBox(shard.shard, b)));
  }

  /// Receivers of what an acknowledged round has sent hold it themselves, in
  /// either mode.
  void dropPassedOn(uint32_t acknowledged) {
    for (uint32_t r = 0; r != acknowledged && !transit.empty(); ++r)
      for (const Op *op : *index.program(program).rounds()->Get(r)->ops())
        if (op->kind() == OpKind::release && op->transit())
          transit.erase(op->tensor());
  }

  /// A safe run releases nothing of it before it commits.
  void addPrevious(std::vector<HeldShard> &held) const {
    for (Holding holding : index.holdings(program, Side::Prev)) {
      auto bound = current.find(holding.tensor);
      if (isReleased(index, program, holding.tensor, standing.released) ||
          (bound != current.end() && bound->second.isBound))
        continue;
      HeldShard shard{Side::Prev, holding.tensor, holding.shard, false, {}};
      for (uint32_t b = 0; b != index.boxCount(holding.shard); ++b)
        shard.boxes.push_back(Box(index.shardBox(holding.shard, b)));
      held.push_back(std::move(shard));
    }
  }

  /// A shard that is complete is its own boxes, not those it came in.
  void simplify(HeldShard &shard) const {
    uint64_t landed = 0, whole = 0;
    for (const Box &box : shard.boxes)
      landed += volume(box);
    std::vector<Box> boxes;
    for (uint32_t b = 0; b != index.boxCount(shard.shard); ++b) {
      boxes.emplace_back(index.shardBox(shard.shard, b));
      whole += volume(boxes.back());
    }
    if (landed == whole)
      shard.boxes = std::move(boxes);
  }

  const PlanIndex &index;
  const uint32_t program;
  const Standing &standing;
  std::map<uint32_t, HeldShard> current, transit;
};

} // namespace

std::vector<HeldShard> etc::runtime::heldShards(const PlanIndex &index,
                                                uint32_t program,
                                                const Standing &standing) {
  return Collector(index, program, standing).collect();
}
