// Where the current state of a migration goes.

#ifndef ETC_RUNTIME_CORE_ENGINE_STATESINK_H
#define ETC_RUNTIME_CORE_ENGINE_STATESINK_H

#include "core/pack/Copy.h"
#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"

#include <functional>

namespace etc::runtime {

/// Devices that are threads use one at once.
class StateSink {
public:
  virtual ~StateSink() = default;
  /// Copies what a device holds of `to`, a part of a box of a current shard.
  using Read = std::function<plan::Status(uint32_t tensor, Region to)>;
  /// Takes all current shards of a rank.
  virtual plan::Status write(const plan::PlanIndex &index, uint32_t rank,
                             const Read &read) const = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_STATESINK_H
