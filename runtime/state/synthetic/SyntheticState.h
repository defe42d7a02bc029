// The previous state of a migration by formula.

#ifndef ETC_RUNTIME_STATE_SYNTHETIC_SYNTHETICSTATE_H
#define ETC_RUNTIME_STATE_SYNTHETIC_SYNTHETICSTATE_H

#include "core/engine/StateSource.h"

namespace etc::runtime {

/// Every element is a function of where it stands, so each device fills and
/// checks its own, where they are.
class SyntheticState final : public StateSource {
public:
  plan::Result<uint64_t> fill(const plan::PlanIndex &index, uint32_t device,
                              const DeviceState &state,
                              Worker &worker) const override;
  plan::Status verify(const plan::PlanIndex &index, uint32_t device,
                      const DeviceState &state, Worker &worker) const override;
  plan::Result<uint64_t> read(const plan::PlanIndex &index, uint32_t device,
                              uint32_t tensor, Region region) const override;
  plan::Status check(const plan::PlanIndex &index, uint32_t device,
                     uint32_t tensor, ConstRegion region) const override;
};

/// The one that all share.
const StateSource &syntheticState();

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_SYNTHETIC_SYNTHETICSTATE_H
