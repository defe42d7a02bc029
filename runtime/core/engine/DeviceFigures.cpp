// The figures of a run, before it and after its rounds.

#include "core/engine/DeviceRun.h"

#include <algorithm>

using namespace etc::runtime;

static uint64_t sideBytes(const PlanIndex &index, uint32_t program, Side side) {
  uint64_t bytes = 0;
  for (etc::plan::Holding holding : index.holdings(program, side))
    bytes = etc::plan::addBytes(bytes, index.shardBytes(holding.shard));
  return bytes;
}

void DeviceRun::noteSizes() {
  result.provedBytes = provedPeak();
  result.stateBytes = std::max(sideBytes(index, program, Side::Prev),
                               sideBytes(index, program, Side::Curr));
}

uint64_t DeviceRun::provedPeak() const {
  const auto &stated = index.program(program);
  const bool isAhead =
      options.tail || allocatesAhead(index, program, options.mode, worker);
  return isAhead || options.mode == Mode::Safe ? stated.peak_safe()
                                               : stated.peak();
}

void DeviceRun::countRounds() {
  result.sentBytes = executor.sentBytes();
  result.receivedBytes = executor.receivedBytes();
  result.internodeBytes = executor.internodeBytes();
  result.times = executor.times();
  if (tailExecutor) {
    result.sentBytes += tailExecutor->sentBytes();
    result.receivedBytes += tailExecutor->receivedBytes();
    result.internodeBytes += tailExecutor->internodeBytes();
    result.times += tailExecutor->times();
  }
  result.peakBytes = worker.allocator().highWater();
  result.heldBytes = worker.heldBytes();
  result.transportBytes = transport.deviceBytes();
}
