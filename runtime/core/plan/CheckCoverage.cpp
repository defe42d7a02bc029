// R1: every element of every current and transit shard is written exactly once.

#include "core/plan/RefereeRules.h"

using namespace etc;
using namespace etc::plan;

/// Compares each with each, which for a few takes less than a sweep; false
/// where there are more.
static bool areFewAndDisjoint(const std::vector<BoxView> &boxes) {
  constexpr size_t kFew = 8;
  if (boxes.size() > kFew)
    return false;
  for (size_t a = 0; a != boxes.size(); ++a)
    for (size_t b = a + 1; b != boxes.size(); ++b)
      if (intersects(boxes[a], boxes[b]))
        return false;
  return true;
}

static Status checkHolding(const PlanIndex &index, uint32_t program,
                           Holding holding, std::span<const Write> writes) {
  auto where = [&] {
    return text("programs[", program, "] (device ",
                index.program(program).devices()->Get(0), ")");
  };
  if (writes.size() == 1 && index.boxCount(holding.shard) == 1 &&
      writes[0].box == index.shardBox(holding.shard, 0))
    return Status::success();
  std::vector<BoxView> boxes = boxesOf(writes);
  const auto overlap =
      areFewAndDisjoint(boxes) ? std::nullopt : findOverlap(boxes);
  if (overlap) {
    const Write &first = writes[overlap->first];
    const Write &second = writes[overlap->second];
    return malformed(opPath(program, second.round, second.op), ": writes ",
                     describe(second.box), " of ",
                     index.describeTensor(holding.tensor), ", of which rounds[",
                     first.round, "].ops[", first.op, "] writes ",
                     describe(first.box), " too");
  }
  // Disjoint parts within the shard cover it if they are as large.
  uint64_t written = 0, held = 0;
  for (BoxView box : boxes)
    written += volume(box);
  for (uint32_t i = 0; i != index.boxCount(holding.shard); ++i)
    held += volume(index.shardBox(holding.shard, i));
  if (written == held)
    return Status::success();
  for (uint32_t i = 0; i != index.boxCount(holding.shard); ++i) {
    std::vector<Box> missing{Box(index.shardBox(holding.shard, i))};
    for (BoxView box : boxes)
      missing = subtract(missing, box);
    if (!missing.empty())
      return malformed(
          where(), ": nothing writes ",
          describe(*std::min_element(missing.begin(), missing.end())), " of ",
          index.describeTensor(holding.tensor));
  }
  return Status::success();
}

Status etc::plan::checkCoverage(const PlanIndex &index, uint32_t program,
                                Side side, const Writes &writes) {
  std::span<const Holding> holdings = index.holdings(program, side);
  for (size_t i = 0; i != holdings.size(); ++i)
    if (Status s = checkHolding(index, program, holdings[i], writes[i]);
        !s.ok())
      return s;
  return Status::success();
}
