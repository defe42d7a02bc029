#include "view/simulate/Workload.h"

#include "core/pack/Copy.h"
#include "core/plan/SectionMap.h"

#include <map>

using namespace etc;
using namespace etc::runtime;
using etc::plan::PlanIndex;
using etc::plan::Side;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

/// Smaller pieces are packed into one; docs/runtime.md.
constexpr uint64_t kOwnPiece = 256 << 10;

/// Whether an op's bytes go through a slab at this end.
static bool isStaged(const PlanIndex &index, uint32_t program, const Op &op) {
  if (index.opBytes(op) < kOwnPiece)
    return true;
  const bool sends = op.kind() == OpKind::send;
  const Side side =
      sends ? etc::plan::sourceSide(op) : etc::plan::targetSide(op);
  const uint32_t tensor = sends ? op.source() : op.tensor();
  size_t position = *index.find(program, side, tensor);
  uint32_t shard = index.holdings(program, side)[position].shard;
  BoxView box = index.opBox(op);
  return !isContiguous(index.shardBox(shard, *index.boxAround(shard, box)),
                       box);
}

static DeviceStep stepOf(const PlanIndex &index, uint32_t program,
                         uint32_t round) {
  DeviceStep step;
  for (const Op *op : *index.program(program).rounds()->Get(round)->ops()) {
    if (op->kind() == OpKind::release || index.bindsMemory(program, *op))
      continue;
    const uint64_t bytes = index.opBytes(*op);
    if (op->kind() == OpKind::send)
      step.packBytes += isStaged(index, program, *op) ? bytes : 0;
    else if (op->kind() == OpKind::recv)
      step.unpackBytes += isStaged(index, program, *op) ? bytes : 0;
    else
      step.copyBytes += bytes;
  }
  return step;
}

Workload etc::runtime::workloadOf(const PlanIndex &index) {
  const uint32_t rounds = index.plan().forecast()->size();
  Workload work;
  work.steps.assign(rounds, std::vector<DeviceStep>(index.rankCount()));
  work.messages.resize(rounds);
  for (uint32_t p = 0; p != index.programCount(); ++p) {
    const auto &program = index.program(p);
    for (uint32_t round = 0; round != program.rounds()->size(); ++round) {
      const DeviceStep step = stepOf(index, p, round);
      std::map<uint32_t, uint64_t> bytesOfSlot;
      for (const Op *op : *program.rounds()->Get(round)->ops())
        if (op->kind() == OpKind::send)
          bytesOfSlot[op->peer()] += index.opBytes(*op);
      for (uint32_t i = 0; i != program.devices()->size(); ++i) {
        uint32_t rank = *index.rankOf(program.devices()->Get(i));
        work.steps[round][rank] = step;
        for (auto [slot, bytes] : bytesOfSlot)
          work.messages[round].push_back(
              {rank,
               *index.rankOf(program.peers()->Get(slot)->devices()->Get(i)),
               bytes});
      }
    }
  }
  return work;
}

Workload etc::runtime::workloadOfLanes(const PlanIndex &lane, uint32_t count) {
  Workload work = workloadOf(lane);
  for (std::vector<DeviceStep> &steps : work.steps) {
    std::vector<DeviceStep> all;
    all.reserve(steps.size() * count);
    for (const DeviceStep &step : steps)
      all.insert(all.end(), count, step);
    steps = std::move(all);
  }
  for (std::vector<SimulatedMessage> &messages : work.messages) {
    std::vector<SimulatedMessage> all;
    all.reserve(messages.size() * count);
    for (const auto &[from, to, bytes] : messages)
      for (uint32_t i = 0; i != count; ++i)
        all.push_back({from * count + i, to * count + i, bytes});
    messages = std::move(all);
  }
  return work;
}

Workload etc::runtime::workloadOfSections(const Workload &kinds,
                                          const PlanIndex &stated,
                                          const PlanIndex &all) {
  const etc::plan::SectionMap map(stated.plan());
  Workload work;
  work.steps.assign(kinds.steps.size(),
                    std::vector<DeviceStep>(all.rankCount()));
  work.messages.resize(kinds.messages.size());
  for (uint32_t section = 0; section != map.sectionCount(); ++section) {
    auto rankOf = [&](uint32_t rank) {
      return *all.rankOf(map.deviceIn(section, stated.device(rank)));
    };
    auto isHere = [&](uint32_t rank) {
      return map.kindOfDevice(stated.device(rank)) ==
             static_cast<int32_t>(map.kindOf(section));
    };
    for (size_t round = 0; round != work.steps.size(); ++round) {
      for (uint32_t rank = 0; rank != stated.rankCount(); ++rank)
        if (isHere(rank))
          work.steps[round][rankOf(rank)] = kinds.steps[round][rank];
      for (const SimulatedMessage &it : kinds.messages[round])
        if (isHere(it.from))
          work.messages[round].push_back(
              {rankOf(it.from), rankOf(it.to), it.bytes});
    }
  }
  return work;
}
