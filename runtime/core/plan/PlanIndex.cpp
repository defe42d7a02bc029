#include "core/plan/PlanIndex.h"

#include <algorithm>
#include <bit>

using namespace etc;
using namespace etc::plan;

static_assert(std::endian::native == std::endian::little,
              "boxes are read in place, and a plan is little-endian");

const char *etc::plan::sideName(Side side) {
  switch (side) {
  case Side::Prev:
    return "previous";
  case Side::Curr:
    return "current";
  case Side::Transit:
    break;
  }
  return "transit";
}

/// Of a sorted list, for each number between its first and its last.
static double countPerTensor(const std::vector<Holding> &all) {
  if (all.empty() || all.front().tensor == all.back().tensor)
    return 0;
  return static_cast<double>(all.size() - 1) /
         (all.back().tensor - all.front().tensor);
}

/// `shards` may be null: the program has none.
static std::vector<Holding>
collectHoldings(const fb::Plan &plan,
                const flatbuffers::Vector<uint32_t> *shards) {
  std::vector<Holding> holdings;
  if (!shards)
    return holdings;
  holdings.reserve(shards->size());
  for (uint32_t shard : *shards)
    holdings.push_back({plan.shards()->Get(shard)->tensor(), shard});
  std::sort(holdings.begin(), holdings.end(),
            [](Holding a, Holding b) { return a.tensor < b.tensor; });
  return holdings;
}

PlanIndex::PlanIndex(const fb::Plan &plan)
    : plan_(&plan), bounds_(plan.bounds()->data()), world_(*readWorld(plan)) {
  facts_.reserve(plan.tensors()->size());
  for (uint32_t t = 0; t != plan.tensors()->size(); ++t) {
    const fb::Tensor &facts = tensor(t);
    facts_.push_back(
        {facts.tied_to() < 0 ? t : static_cast<uint32_t>(facts.tied_to()),
         static_cast<uint16_t>(facts.shape()->size()),
         static_cast<uint8_t>(etc::plan::elementBytes(facts.dtype())),
         facts.deferred()});
  }
  shardBytes_.reserve(plan.shards()->size());
  for (uint32_t shard = 0; shard != plan.shards()->size(); ++shard)
    shardBytes_.push_back(sumShard(shard));
  participants_.resize(rankCount());
  for (uint32_t p = 0; p != programCount(); ++p) {
    const fb::Program &entry = program(p);
    for (auto [side, shards] : {std::pair(Side::Prev, entry.prev_shards()),
                                {Side::Curr, entry.curr_shards()},
                                {Side::Transit, entry.transit_shards()}}) {
      std::vector<Holding> all = collectHoldings(plan, shards);
      const double perTensor = countPerTensor(all);
      holdings_[static_cast<size_t>(side)].push_back(
          {std::move(all), perTensor});
    }
    for (uint32_t i = 0; i != program(p).devices()->size(); ++i)
      participants_[*rankOf(program(p).devices()->Get(i))] = {p, i};
  }
  uint64_t end = 0;
  for (uint32_t count : world_.nodes)
    nodeEnds_.push_back(end += count);
}

std::string PlanIndex::describeTensor(uint32_t index) const {
  return tensor(index).name()->str() + " (" + tensor(index).type()->str() + ")";
}

BoxView PlanIndex::shardBox(uint32_t shard, uint32_t index) const {
  const fb::Shard &entry = *plan_->shards()->Get(shard);
  return boxAt(plan_->boxes()->Get(entry.first_box() + index), entry.tensor());
}

uint64_t PlanIndex::sumShard(uint32_t shard) const {
  uint64_t elements = 0;
  for (uint32_t i = 0; i != boxCount(shard); ++i)
    elements = addBytes(elements, volume(shardBox(shard, i)));
  return mulBytes(elements,
                  elementBytes(plan_->shards()->Get(shard)->tensor()));
}

std::optional<size_t> PlanIndex::find(uint32_t program, Side side,
                                      uint32_t tensor) const {
  const auto &[all, perTensor] = holdings_[static_cast<size_t>(side)][program];
  if (all.empty() || tensor < all.front().tensor || tensor > all.back().tensor)
    return std::nullopt;
  // Where it would be if they were evenly spaced. Those of a stage mostly are,
  // by and large.
  const size_t guess =
      std::min(static_cast<size_t>((tensor - all.front().tensor) * perTensor),
               all.size() - 1);
  if (all[guess].tensor == tensor)
    return guess;
  // From the guess on in steps that double, until the tensor is between.
  size_t first = guess, end = guess + 1;
  for (size_t step = 1; all[first].tensor > tensor; step *= 2) {
    end = first;
    first -= std::min(first, step);
  }
  for (size_t step = 1; all[end - 1].tensor < tensor; step *= 2) {
    first = end;
    end = std::min(all.size(), end + step);
  }
  auto it = std::lower_bound(
      all.begin() + first, all.begin() + end, tensor,
      [](Holding holding, uint32_t value) { return holding.tensor < value; });
  if (it == all.begin() + end || it->tensor != tensor)
    return std::nullopt;
  return it - all.begin();
}

std::optional<uint32_t> PlanIndex::boxAround(uint32_t shard,
                                             BoxView box) const {
  for (uint32_t i = 0; i != boxCount(shard); ++i)
    if (contains(shardBox(shard, i), box))
      return i;
  return std::nullopt;
}

bool PlanIndex::refersToBox(const fb::Op &op, uint32_t shard) const {
  if (op.kind() != fb::OpKind::refer || op.source() != op.tensor() ||
      op.tensor() != plan_->shards()->Get(shard)->tensor())
    return false;
  for (uint32_t i = 0; i != boxCount(shard); ++i)
    if (shardBox(shard, i) == opBox(op))
      return true;
  return false;
}

bool PlanIndex::refersToWhole(uint32_t program, uint32_t shard) const {
  uint32_t count = 0;
  for (const fb::Round *round : *plan_->programs()->Get(program)->rounds())
    for (const fb::Op *op : *round->ops())
      count += refersToBox(*op, shard);
  return count == boxCount(shard);
}

bool PlanIndex::bindsMemory(uint32_t program, const fb::Op &op) const {
  if (op.kind() != fb::OpKind::refer)
    return false;
  auto shardOn = [&](Side side) -> std::optional<uint32_t> {
    std::optional<size_t> position = find(program, side, op.tensor());
    if (!position)
      return std::nullopt;
    return holdings(program, side)[*position].shard;
  };
  std::optional<uint32_t> prev = shardOn(Side::Prev),
                          curr = shardOn(Side::Curr);
  if (!prev || !curr || boxCount(*prev) != boxCount(*curr) ||
      !refersToBox(op, *curr))
    return false;
  for (uint32_t i = 0; i != boxCount(*prev); ++i)
    if (shardBox(*prev, i) != shardBox(*curr, i))
      return false;
  return boxCount(*curr) == 1 || refersToWhole(program, *curr);
}

std::optional<uint32_t> PlanIndex::rankOf(uint32_t device) const {
  const std::vector<uint32_t> &all = world_.participants;
  auto it = std::lower_bound(all.begin(), all.end(), device);
  if (it == all.end() || *it != device)
    return std::nullopt;
  return static_cast<uint32_t>(it - all.begin());
}

uint32_t PlanIndex::nodeOf(uint32_t device) const {
  auto it = std::upper_bound(nodeEnds_.begin(), nodeEnds_.end(), device);
  return static_cast<uint32_t>(it - nodeEnds_.begin());
}
