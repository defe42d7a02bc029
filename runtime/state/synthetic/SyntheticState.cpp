#include "state/synthetic/SyntheticState.h"

#include "core/device/Worker.h"
#include "core/engine/DeviceState.h"
#include "state/synthetic/StateCheck.h"

using namespace etc::runtime;
using etc::plan::Result;
using etc::plan::Side;

const StateSource &etc::runtime::syntheticState() {
  static const SyntheticState state;
  return state;
}

Result<uint64_t> SyntheticState::read(const PlanIndex &index, uint32_t,
                                      uint32_t tensor, Region region) const {
  fillRegion(index, tensor, Side::Prev, region);
  return 0;
}

Status SyntheticState::check(const PlanIndex &index, uint32_t, uint32_t tensor,
                             ConstRegion region) const {
  return checkRegion(index, tensor, Side::Curr, region);
}

/// Elsewhere than on the host, the device computes them.
Result<uint64_t> SyntheticState::fill(const PlanIndex &index, uint32_t device,
                                      const DeviceState &state,
                                      Worker &worker) const {
  if (worker.isHost())
    return StateSource::fill(index, device, state, worker);
  std::vector<Move> moves;
  Status status =
      state.forEachRegion(Side::Prev, [&](uint32_t tensor, Region region) {
        appendFill(index, tensor, Side::Prev, region, moves);
        return Status::success();
      });
  if (status.ok())
    status = worker.run(moves, {});
  return status.ok() ? Result<uint64_t>(0) : status;
}

/// The first wrong element of a region that is known to have one, found in a
/// copy on the host.
static Status explain(const PlanIndex &index, uint32_t tensor, Region region,
                      Worker &worker) {
  std::vector<std::byte> copy(volume(region.box) * index.elementBytes(tensor));
  if (Status s = worker.download(copy, region.data); !s.ok())
    return s;
  return checkRegion(index, tensor, Side::Curr, {copy.data(), region.box});
}

Status SyntheticState::verify(const PlanIndex &index, uint32_t device,
                              const DeviceState &state, Worker &worker) const {
  if (worker.isHost())
    return StateSource::verify(index, device, state, worker);
  std::vector<Move> moves;
  uint32_t regions = 0;
  Status status = state.forEachRegion(Side::Curr, [&](uint32_t tensor,
                                                      Region region) {
    size_t first = moves.size();
    appendCheck(index, tensor, Side::Curr, {region.data, region.box}, moves);
    for (size_t i = first; i != moves.size(); ++i)
      moves[i].sum = regions;
    ++regions;
    return Status::success();
  });
  std::vector<uint64_t> wrong(regions);
  if (status.ok())
    status = worker.run(moves, wrong);
  if (!status.ok())
    return status;
  size_t region = 0;
  return state.forEachRegion(Side::Curr, [&](uint32_t tensor, Region where) {
    return wrong[region++] == 0 ? Status::success()
                                : explain(index, tensor, where, worker);
  });
}
