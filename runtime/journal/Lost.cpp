// Which bytes went with their last holder.

#include "journal/Inventory.h"

using namespace etc::runtime;
using etc::plan::Box;

namespace {

using Boxes = std::vector<std::vector<int64_t>>;

/// Everything that survives, by tensor, over all devices.
std::vector<Boxes> surviving(const PlanIndex &index,
                             const Survivors &survivors) {
  std::vector<Boxes> held(index.plan().tensors()->size());
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    if (survivors[rank])
      for (const Piece &piece :
           piecesOf(index, index.place(rank).program, *survivors[rank]))
        held[piece.tensor].insert(held[piece.tensor].end(), piece.boxes.begin(),
                                  piece.boxes.end());
  return held;
}

/// What the job had before, by tensor: the union of all previous shards.
std::vector<Boxes> previous(const PlanIndex &index) {
  std::vector<Boxes> needed(index.plan().tensors()->size());
  for (uint32_t p = 0; p != index.programCount(); ++p)
    for (etc::plan::Holding holding : index.holdings(p, Side::Prev))
      for (uint32_t b = 0; b != index.boxCount(holding.shard); ++b) {
        Box box = index.shardBox(holding.shard, b);
        needed[holding.tensor].push_back(
            {box.bounds().begin(), box.bounds().end()});
      }
  return needed;
}

/// What of a box is in none of `known`.
Boxes cut(const std::vector<int64_t> &box, const Boxes &known) {
  Boxes rest{box};
  for (const std::vector<int64_t> &part : known) {
    Boxes next;
    for (const std::vector<int64_t> &piece : rest)
      for (std::vector<int64_t> &left : subtract(Box(piece), Box(part)))
        next.push_back(std::move(left));
    rest = std::move(next);
  }
  return rest;
}

void append(Boxes &all, const Boxes &more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// What of each tensor's `needed` is not in its `known`.
std::vector<TensorBox> without(const std::vector<Boxes> &needed,
                               std::vector<Boxes> known) {
  std::vector<TensorBox> rest;
  for (uint32_t t = 0; t != needed.size(); ++t)
    for (const std::vector<int64_t> &box : needed[t]) {
      const Boxes missing = cut(box, known[t]);
      for (const std::vector<int64_t> &part : missing)
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
  return without(previous(index), std::move(known));
}

std::vector<TensorBox> etc::runtime::findUnheld(const PlanIndex &index,
                                                const Survivors &survivors) {
  return without(previous(index), surviving(index, survivors));
}
