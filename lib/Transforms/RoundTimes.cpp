//===- RoundTimes.cpp - What rounds take ----------------------------------===//

#include "RoundTimes.h"

#include "HopChunks.h"
#include "RoundClock.h"

using namespace etc;
using namespace mlir;

static std::vector<Chunk> listUrgent(const ProgramFlows &flows) {
  std::vector<Chunk> chunks;
  for (unsigned item = 0; item < flows.getItemCount(); ++item)
    for (unsigned type = 0; type < flows.getTable().getTypeCount(); ++type) {
      if (flows.getTable().isDeferred(type))
        continue;
      const unsigned last = findLastHop(flows.getFlows(item), type);
      for (unsigned hop = 0; hop <= last; ++hop)
        chunks.push_back({item, {type, 0, 1, hop, /*derives=*/false}});
    }
  return chunks;
}

RoundTimes::RoundTimes(ResourcesAttr resources, const ProgramFlows &flows,
                       ArrayRef<DeviceProgram> programs, const Devices &devices,
                       const BothHoldings &holdings)
    : resources(resources), flows(flows),
      rates(resources, flows, programs, devices, holdings),
      urgent(rates, listUrgent(flows)),
      // Messages, their acknowledgements, and some 10 us of the device's own.
      beginning(2 * resources.getNicLatency() + 10'000),
      portSeconds(findPortSeconds()) {}

/// A slab is made for portions of all bytes. Where some are deferred, those of
/// the pause progress in enough portions of this size.
int64_t RoundTimes::countPortions(ArrayRef<rounds::ClassTotals> totals) const {
  int64_t hops = 0, bytes = 0, urgent = 0;
  for (unsigned item = 0; item < flows.getItemCount(); ++item)
    for (const ItemFlow &flow : flows.getFlows(item))
      for (unsigned type = 0; type < flows.getTable().getTypeCount(); ++type)
        hops = std::max<int64_t>(hops, flow.getLastHop(type));
  for (const rounds::ClassTotals &it : totals)
    bytes = std::max({bytes, it.sent, it.received});
  for (const ProgramMemory &it : flows.getMemories())
    urgent = std::max({urgent, it.urgentSent, it.urgentReceived});
  const int64_t portions =
      rounds::countPortions(urgent, resources.getNicRate(), beginning, hops);
  return urgent == 0 ? 1 : llvm::divideCeil(bytes, urgent) * portions;
}

double RoundTimes::findPortSeconds() const {
  RoundClock clock(rates, urgent);
  for (unsigned unit = 0; unit < urgent.size(); ++unit)
    clock.add(unit);
  return clock.getBusiest();
}

RoundTimes::Seconds RoundTimes::secondsOf(const rounds::Solution &solution,
                                          ArrayRef<Chunk> chunks) const {
  std::vector<SmallVector<unsigned>> byRound(solution.rounds);
  for (auto [chunk, round] : llvm::enumerate(solution.roundOf))
    byRound[round].push_back(chunk);
  const UnitTimes units(rates, chunks);
  RoundClock clock(rates, units);
  std::optional<double> pause;
  for (ArrayRef<unsigned> numbers : byRound) {
    if (!pause &&
        flows.getTable().isDeferred(chunks[numbers.front()].portion.type)) {
      pause = clock.getEnd();
      clock.waitForAll();
    }
    for (unsigned number : numbers)
      clock.add(number);
    clock.endRound(getBeginning());
  }
  const double all = clock.getEnd();
  return {pause.value_or(all), all};
}
