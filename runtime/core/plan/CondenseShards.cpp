#include "core/plan/CondenseShards.h"

#include "core/plan/Lists.h"

#include <algorithm>
#include <map>

using namespace etc;
using namespace etc::plan;

static void shareBoxes(fb::PlanT &plan, MovedBoxes &boxes) {
  std::vector<uint32_t> shared, list;
  std::vector<fb::Run> runs;
  Lists lists(shared, runs);
  for (fb::Shard &shard : plan.shards) {
    const unsigned rank = plan.tensors[shard.tensor()]->shape.size();
    list.clear();
    for (uint32_t i = 0; i != shard.box_count(); ++i)
      list.push_back(boxes.move(plan.boxes[shard.first_box() + i], rank));
    auto first = static_cast<uint32_t>(shared.size());
    if (list.size() <= kMostSharedBoxes)
      first = runs[lists.add(list)].first();
    else
      shared.insert(shared.end(), list.begin(), list.end());
    shard = fb::Shard(shard.tensor(), first, shard.box_count());
  }
  plan.boxes = std::move(shared);
}

using Holders = std::vector<std::pair<uint32_t, uint32_t>>;

/// Shards that equally many programs hold, as a list each. Readers list them by
/// tensor: what is in another order stays.
static void divide(std::vector<uint32_t> &shards,
                   std::vector<uint32_t> &numbers, const fb::PlanT &plan,
                   const Holders &holders, Lists &lists) {
  auto isNotBefore = [&](uint32_t a, uint32_t b) {
    return plan.shards[a].tensor() >= plan.shards[b].tensor();
  };
  if (std::adjacent_find(shards.begin(), shards.end(), isNotBefore) !=
      shards.end())
    return;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> parts;
  for (uint32_t shard : shards)
    parts[holders[shard]].push_back(shard);
  for (const auto &[held, part] : parts)
    numbers.push_back(lists.add(part));
  shards = {};
}

void etc::plan::condenseShards(fb::PlanT &plan, MovedBoxes &boxes,
                               CondensedLists &out) {
  shareBoxes(plan, boxes);
  Holders holders(plan.shards.size());
  for (const auto &program : plan.programs) {
    for (uint32_t shard : program->prev_shards)
      ++holders[shard].first;
    for (uint32_t shard : program->curr_shards)
      ++holders[shard].second;
  }
  Lists lists(out.held, out.lists);
  for (size_t p = 0; p != plan.programs.size(); ++p) {
    fb::ProgramT &program = *plan.programs[p];
    ProgramLists &stated = out.programs[p];
    divide(program.prev_shards, stated.prev_lists, plan, holders, lists);
    divide(program.curr_shards, stated.curr_lists, plan, holders, lists);
  }
  out.shards = std::move(plan.shards);
  out.boxes = std::move(plan.boxes);
}

void etc::plan::expandShards(fb::PlanT &plan) {
  std::vector<uint32_t> own;
  for (fb::Shard &shard : plan.shards) {
    const auto begin = plan.boxes.begin() + shard.first_box();
    const auto first = static_cast<uint32_t>(own.size());
    own.insert(own.end(), begin, begin + shard.box_count());
    shard = fb::Shard(shard.tensor(), first, shard.box_count());
  }
  plan.boxes = std::move(own);
}
