//===- TimeFloor.cpp - What rounds take at least --------------------------===//

#include "TimeFloor.h"

using namespace etc;
using namespace mlir;

/// Of all that is not deferred.
static std::vector<DeviceLoad> findLoads(const RoundTimes &times) {
  const TransferRates &rates = times.getRates();
  const UnitTimes &units = times.getUrgent();
  std::vector<DeviceLoad> loads(rates.getDeviceCount());
  for (unsigned unit = 0; unit < units.size(); ++unit)
    for (const UnitTimes::Sending &it : units.getSendings(unit))
      for (const Way &way : rates.getWays(it.ways)) {
        const double seconds = it.secondsOf(way);
        loads[way.from].of(way).out += seconds;
        loads[way.to].of(way).in += seconds;
      }
  return loads;
}

TimeFloor::TimeFloor(const RoundTimes &times,
                     ArrayRef<rounds::ClassTotals> totals)
    : times(times), flows(times.getRates().getFlows()), totals(totals),
      seconds(totals.size()), kinds(times.getRates().getKinds().size()) {
  const std::vector<DeviceLoad> loads = findLoads(times);
  for (auto [program, its] : llvm::enumerate(seconds))
    for (int64_t device : times.getRates().getDevices(program)) {
      const auto &[near, far] = loads[device];
      its.most = std::max(its.most, loads[device].most());
      if (far.in == 0)
        its.toUnpack = std::max(its.toUnpack, near.most());
      else if (near.in == 0)
        its.toUnpack = std::max(its.toUnpack, far.most());
    }
  for (unsigned item = 0; item < flows.getItemCount(); ++item) {
    Kind &kind = kinds[times.getRates().getKinds()[item]];
    if (kind.count++ > 0)
      continue;
    kind.first = item;
    for (unsigned type :
         flows.getTable().getTypes(flows.getTensor(item)).set_bits())
      if (!flows.getTable().isDeferred(type))
        kind.most.emplace_back(type, HopMost(flows, item, type));
  }
}

/// The most elements of a piece that are in one chunk where it is cut into at
/// least so many: a chunk of an axis that is long enough has less than twice
/// its share, and is else one position.
static int64_t mostOfChunk(const Piece &piece, int64_t chunks) {
  if (chunks == 1)
    return piece.size();
  int64_t longest = 1;
  for (unsigned axis = 0; axis < Piece::rank(); ++axis)
    longest = std::max(longest, piece[axis].size());
  return longest < chunks
             ? llvm::divideCeil(piece.size(), longest)
             : std::min(piece.size(), static_cast<int64_t>(llvm::divideCeil(
                                          2 * piece.size(), chunks)));
}

void TimeFloor::addUses(const Kind &kind, unsigned type, int64_t chunks,
                        std::vector<Use> &uses) const {
  const int64_t size = flows.getTable().getTypeBytes(type);
  const double rate =
      static_cast<double>(times.getRates().getResources().getPackRate());
  const Packings &packings = times.getRates().getPackings();
  const unsigned last = findLastHop(flows.getFlows(kind.first), type);
  for (unsigned hop = 0; hop <= last; ++hop)
    for (const ItemFlow &flow : flows.getFlows(kind.first)) {
      Use &use = uses[flow.program];
      int64_t sent = 0, received = 0;
      for (const Step &step : flow.steps) {
        if (!step.isTransfer() || !step.isOf(type) || step.getHop() != hop)
          continue;
        const int64_t most = mostOfChunk(*step.piece, chunks) * size;
        (step.isSend() ? sent : received) += most;
        if (packings.isPackedAnyway(step, type, most))
          (step.isSend() ? use.packing : use.unpacking) +=
              double(kind.count * step.piece->size() * size) / rate;
      }
      use.mostSent = std::max(use.mostSent, sent);
      use.mostReceived = std::max(use.mostReceived, received);
    }
}

std::vector<TimeFloor::Use>
TimeFloor::findUses(ArrayRef<rounds::ClassMemory> memory, int64_t parts) const {
  std::vector<Use> uses(totals.size());
  for (const Kind &kind : kinds)
    for (const auto &[type, most] : kind.most)
      addUses(kind, type, most.countChunks(memory, parts), uses);
  return uses;
}

double TimeFloor::findCost(int64_t portions, int64_t parts) const {
  std::vector<rounds::ClassMemory> memory;
  for (const rounds::ClassTotals &it : totals) {
    const int64_t state = std::max(it.prev, it.curr);
    memory.push_back({it.prev, it.curr, /*limit=*/state,
                      rounds::findWidestSlab(it.sent, state, portions),
                      rounds::findWidestSlab(it.received, state, portions)});
  }
  double most = 0;
  for (auto [program, use] : llvm::enumerate(findUses(memory, parts))) {
    const ProgramMemory &it = flows.getMemories()[program];
    auto roundsOf = [](int64_t bytes, int64_t slab, int64_t mostOfUnit) {
      return bytes == 0 ? 0
                        : static_cast<int64_t>(llvm::divideCeil(
                              bytes, std::max(slab, mostOfUnit)));
    };
    const int64_t rounds = std::max(
        roundsOf(it.urgentSent, memory[program].sendSlab, use.mostSent),
        roundsOf(it.urgentReceived, memory[program].recvSlab,
                 use.mostReceived));
    const auto [carrying, toUnpack] = seconds[program];
    most = std::max(most, double(rounds) * times.getBeginning() + use.packing +
                              std::max(carrying, toUnpack + use.unpacking));
  }
  return most;
}
