// Where the previous state of a migration comes from.

#ifndef ETC_RUNTIME_CORE_ENGINE_STATESOURCE_H
#define ETC_RUNTIME_CORE_ENGINE_STATESOURCE_H

#include "core/pack/Copy.h"
#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"

namespace etc::runtime {

/// Devices that are threads use one at once.
class StateSource {
public:
  virtual ~StateSource() = default;
  /// Writes every element of a box of a previous shard. Returns how many of the
  /// bytes came from a checkpoint.
  virtual plan::Result<uint64_t> read(const plan::PlanIndex &index,
                                      uint32_t device, uint32_t tensor,
                                      Region region) const = 0;
  /// Compares every element of a box of a current shard with what it has to be:
  /// by formula, unless a source knows better. The error is of kind
  /// Verification.
  virtual plan::Status check(const plan::PlanIndex &index, uint32_t device,
                             uint32_t tensor, ConstRegion region) const;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_STATESOURCE_H
