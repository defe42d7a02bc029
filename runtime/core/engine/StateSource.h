// Where the previous state of a migration comes from.

#ifndef ETC_RUNTIME_CORE_ENGINE_STATESOURCE_H
#define ETC_RUNTIME_CORE_ENGINE_STATESOURCE_H

#include "core/pack/Copy.h"
#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"

namespace etc::runtime {

class DeviceState;
class Worker;

/// Devices that are threads use one at once.
class StateSource {
public:
  virtual ~StateSource() = default;
  /// Writes every element of a device's previous state: by read(), unless a
  /// source knows better. Returns how many of the bytes came from a checkpoint.
  virtual plan::Result<uint64_t> fill(const plan::PlanIndex &index,
                                      uint32_t device, const DeviceState &state,
                                      Worker &worker) const;
  /// Compares every element of its current state with what it has to be: by
  /// check(), likewise. The error is of kind Verification, and names the first
  /// wrong one.
  virtual plan::Status verify(const plan::PlanIndex &index, uint32_t device,
                              const DeviceState &state, Worker &worker) const;

  /// The same of a box of a shard, in memory of the host.
  virtual plan::Result<uint64_t> read(const plan::PlanIndex &index,
                                      uint32_t device, uint32_t tensor,
                                      Region region) const = 0;
  virtual plan::Status check(const plan::PlanIndex &index, uint32_t device,
                             uint32_t tensor, ConstRegion region) const = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_STATESOURCE_H
