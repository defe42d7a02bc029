// Which bytes went with their last holder.

#include "state/inventory/Inventory.h"

#include <algorithm>

using namespace etc;
using namespace etc::runtime;

namespace {

using Boxes = std::vector<Box>;

void append(Boxes &all, const Boxes &more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// Everything that survives, by tensor, over all devices.
std::vector<Boxes> surviving(const PlanIndex &index,
                             const Survivors &survivors) {
  std::vector<Boxes> held(index.plan().tensors()->size());
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    if (survivors[rank])
      for (const HeldShard &shard :
           heldShards(index, index.participant(rank).program, *survivors[rank]))
        append(held[shard.tensor], shard.boxes);
  return held;
}

/// What the job has on a side, by tensor: the union of all shards.
std::vector<Boxes> wholeState(const PlanIndex &index, Side side) {
  std::vector<Boxes> needed(index.plan().tensors()->size());
  for (uint32_t p = 0; p != index.programCount(); ++p)
    for (etc::plan::Holding holding : index.holdings(p, side))
      for (uint32_t b = 0; b != index.boxCount(holding.shard); ++b)
        needed[holding.tensor].emplace_back(index.shardBox(holding.shard, b));
  return needed;
}

bool isDecided(const Survivors &survivors) {
  return std::any_of(survivors.begin(), survivors.end(), [](const auto &s) {
    return s && (s->isDecided || s->isCommitted);
  });
}

bool hasReleased(const PlanIndex &index, const Survivors &survivors,
                 uint32_t rank, uint32_t tensor) {
  return survivors[rank] && isReleased(index, index.participant(rank).program,
                                       tensor, survivors[rank]->released);
}

/// Elements that the migration dropped, because the current state does not have
/// them under any name, such as padding: these are over, not lost.
std::vector<Boxes> dropped(const PlanIndex &index, const Survivors &survivors) {
  const std::vector<Boxes> current = wholeState(index, Side::Curr);
  std::vector<Boxes> kept(current.size()), gone(current.size());
  for (uint32_t t = 0; t != current.size(); ++t)
    append(kept[index.primary(t)], current[t]);
  const bool areAll = isDecided(survivors);
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    for (etc::plan::Holding holding :
         index.holdings(index.participant(rank).program, Side::Prev))
      if (areAll || hasReleased(index, survivors, rank, holding.tensor))
        for (uint32_t b = 0; b != index.boxCount(holding.shard); ++b) {
          Boxes rest{Box(index.shardBox(holding.shard, b))};
          for (const Box &part : kept[index.primary(holding.tensor)])
            rest = subtract(rest, part);
          append(gone[holding.tensor], rest);
        }
  return gone;
}

/// What of each tensor's `needed` is not in its `known`.
std::vector<TensorBox> without(const std::vector<Boxes> &needed,
                               std::vector<Boxes> known) {
  std::vector<TensorBox> rest;
  for (uint32_t t = 0; t != needed.size(); ++t)
    for (const Box &box : needed[t]) {
      Boxes missing{box};
      for (const Box &part : known[t])
        missing = subtract(missing, part);
      for (const Box &part : missing)
        rest.push_back({t, part});
      append(known[t], missing); // a replica's loss is not told twice
    }
  return rest;
}

} // namespace

std::vector<TensorBox> etc::runtime::findLost(const PlanIndex &index,
                                              const Survivors &survivors) {
  const std::vector<Boxes> held = surviving(index, survivors);
  // An element also survives in a copy of its tensor, or in what it is cast
  // from.
  std::vector<Boxes> equal(held.size()), known(held.size());
  for (uint32_t t = 0; t != held.size(); ++t)
    append(equal[index.primary(t)], held[t]);
  for (uint32_t t = 0; t != held.size(); ++t) {
    known[t] = equal[index.primary(t)];
    if (int32_t source = index.tensor(index.primary(t)).derived_from();
        source >= 0)
      append(known[t], equal[index.primary(source)]);
  }
  const std::vector<Boxes> gone = dropped(index, survivors);
  for (uint32_t t = 0; t != held.size(); ++t)
    append(known[t], gone[t]);
  return without(wholeState(index, Side::Prev), std::move(known));
}

std::vector<TensorBox> etc::runtime::findUnheld(const PlanIndex &index,
                                                const Survivors &survivors,
                                                Side side) {
  return without(wholeState(index, side), surviving(index, survivors));
}
