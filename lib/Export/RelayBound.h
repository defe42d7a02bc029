//===- RelayBound.h - Bytes between nodes where devices pass them on ------===//

#ifndef ETC_LIB_EXPORT_RELAYBOUND_H
#define ETC_LIB_EXPORT_RELAYBOUND_H

#include "core/plan/plan_generated.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace etc {

/// Of how many sections that are alike a tensor stands for those of.
using CopiesFn = llvm::function_ref<uint64_t(uint32_t tensor)>;

/// What no plan can go below between nodes where devices may pass on what they
/// have received. `bound`: the certified bytes that devices have to get from
/// other nodes. What enters a node once can serve all devices there that need
/// it; at best those bytes are the ones that most devices need.
uint64_t boundWithRelays(
    const plan::fb::PlanT &plan, uint64_t bound,
    CopiesFn copies = [](uint32_t) { return uint64_t{1}; });

} // namespace etc

#endif // ETC_LIB_EXPORT_RELAYBOUND_H
