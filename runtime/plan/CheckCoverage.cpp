// R1: every element of every current shard is written exactly once.

#include "plan/RefereeRules.h"

using namespace etc::plan;

static std::vector<Box> boxesOf(const std::vector<Write> &writes) {
  std::vector<Box> boxes;
  boxes.reserve(writes.size());
  for (const Write &write : writes)
    boxes.push_back(write.box);
  return boxes;
}

static Status checkHolding(const PlanIndex &index, uint32_t program,
                           Holding holding, const std::vector<Write> &writes) {
  auto where = [&] {
    return text("programs[", program, "] (device ",
                index.program(program).devices()->Get(0), ")");
  };
  if (writes.size() == 1 && index.boxCount(holding.shard) == 1 &&
      writes[0].box == index.shardBox(holding.shard, 0))
    return Status::success();
  std::vector<Box> boxes = boxesOf(writes);
  if (auto overlap = findOverlap(boxes)) {
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
  for (Box box : boxes)
    written += box.volume();
  for (uint32_t i = 0; i != index.boxCount(holding.shard); ++i)
    held += index.shardBox(holding.shard, i).volume();
  if (written == held)
    return Status::success();
  for (uint32_t i = 0; i != index.boxCount(holding.shard); ++i) {
    std::vector<int64_t> missing =
        findUncovered(index.shardBox(holding.shard, i), boxes);
    if (!missing.empty())
      return malformed(where(), ": nothing writes ", describe(Box(missing)),
                       " of ", index.describeTensor(holding.tensor));
  }
  return Status::success();
}

Status etc::plan::checkCoverage(const PlanIndex &index, uint32_t program,
                                const Writes &writes) {
  std::span<const Holding> holdings = index.holdings(program, Side::Curr);
  for (size_t i = 0; i != holdings.size(); ++i)
    if (Status s = checkHolding(index, program, holdings[i], writes[i]);
        !s.ok())
      return s;
  return Status::success();
}
