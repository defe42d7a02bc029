// Transfers of a plan in words.

#ifndef ETC_RUNTIME_CORE_ENGINE_DESCRIBE_H
#define ETC_RUNTIME_CORE_ENGINE_DESCRIBE_H

#include "core/plan/PlanIndex.h"

namespace etc::runtime {

/// "layer.weight (param)[0:2, 0:4] and 3 more from device 2": what `rank`
/// exchanges in a round with `peer`, in the direction `kind` (send or recv).
std::string describeMessage(const plan::PlanIndex &index, uint32_t rank,
                            uint32_t peer, uint32_t round,
                            plan::fb::OpKind kind);

/// "round 2: transfer of ... to device 3" for a device that was lost in a
/// round: the first message that it takes part in, if any.
std::string describeLoss(const plan::PlanIndex &index, uint32_t rank,
                         uint32_t round);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_DESCRIBE_H
