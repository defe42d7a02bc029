#include "core/plan/PeakRatios.h"

#include <algorithm>

using namespace etc::plan;

uint64_t etc::plan::heldBytes(const PlanIndex &index, uint32_t program,
                              Side side) {
  uint64_t bytes = 0;
  for (Holding holding : index.holdings(program, side))
    bytes = addBytes(bytes, index.shardBytes(holding.shard));
  return bytes;
}

uint64_t etc::plan::stateBytes(const PlanIndex &index, uint32_t program) {
  return std::max(heldBytes(index, program, Side::Prev),
                  heldBytes(index, program, Side::Curr));
}

PeakRatios etc::plan::peakRatios(const PlanIndex &index) {
  constexpr uint64_t scale = 10000;
  uint64_t peak = 0, safe = 0;
  for (uint32_t program = 0; program != index.programCount(); ++program) {
    const uint64_t state = stateBytes(index, program);
    if (!state)
      continue;
    auto ratio = [&](uint64_t bytes) {
      return static_cast<uint64_t>(
          (static_cast<unsigned __int128>(bytes) * scale + state - 1) / state);
    };
    peak = std::max(peak, ratio(index.program(program).peak()));
    safe = std::max(safe, ratio(index.program(program).peak_safe()));
  }
  return {static_cast<double>(peak) / scale, static_cast<double>(safe) / scale};
}
