#include "core/engine/StateSource.h"

#include "core/engine/DeviceState.h"

using namespace etc::runtime;
using etc::plan::Result;
using etc::plan::Side;

Result<uint64_t> StateSource::fill(const PlanIndex &index, uint32_t device,
                                   const DeviceState &state, Worker &) const {
  uint64_t restored = 0;
  Status status =
      state.forEachRegion(Side::Prev, [&](uint32_t tensor, Region region) {
        Result<uint64_t> bytes = read(index, device, tensor, region);
        restored += bytes ? *bytes : 0;
        return bytes.status();
      });
  return status.ok() ? Result<uint64_t>(restored) : status;
}

Status StateSource::verify(const PlanIndex &index, uint32_t device,
                           const DeviceState &state, Worker &) const {
  return state.forEachRegion(Side::Curr, [&](uint32_t tensor, Region region) {
    return check(index, device, tensor, {region.data, region.box});
  });
}
