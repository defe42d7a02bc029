#include "core/engine/DeviceFill.h"

#include "core/engine/StateCheck.h"

using namespace etc::runtime;

Status etc::runtime::fillState(const PlanIndex &index, Side side,
                               const DeviceState &state, Worker &worker) {
  std::vector<Move> moves;
  Status listed =
      state.forEachRegion(side, [&](uint32_t tensor, Region region) {
        if (worker.isHost())
          fillRegion(index, tensor, side, region);
        else
          appendFill(index, tensor, side, region, moves);
        return Status::success();
      });
  return listed.ok() ? worker.run(moves, {}) : listed;
}

/// The first wrong element of a region that is known to have one, found in a
/// copy on the host.
static Status explain(const PlanIndex &index, uint32_t tensor, Side side,
                      Region region, Worker &worker) {
  std::vector<std::byte> copy(volume(region.box) * index.elementBytes(tensor));
  if (Status s = worker.download(copy, region.data); !s.ok())
    return s;
  return checkRegion(index, tensor, side, {copy.data(), region.box});
}

Status etc::runtime::checkState(const PlanIndex &index, Side side,
                                const DeviceState &state, Worker &worker) {
  if (worker.isHost())
    return state.forEachRegion(side, [&](uint32_t tensor, Region region) {
      return checkRegion(index, tensor, side, {region.data, region.box});
    });

  std::vector<Move> moves;
  uint32_t regions = 0;
  Status status =
      state.forEachRegion(side, [&](uint32_t tensor, Region region) {
        size_t first = moves.size();
        appendCheck(index, tensor, side, {region.data, region.box}, moves);
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
  return state.forEachRegion(side, [&](uint32_t tensor, Region where) {
    return wrong[region++] == 0 ? Status::success()
                                : explain(index, tensor, side, where, worker);
  });
}
