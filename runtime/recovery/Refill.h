// The previous state of the plan that a recovery runs, from what a process has.

#ifndef ETC_RUNTIME_RECOVERY_REFILL_H
#define ETC_RUNTIME_RECOVERY_REFILL_H

#include "core/device/Worker.h"
#include "core/journal/HeldShards.h"
#include "state/checkpoint/BoxSource.h"

#include <functional>

namespace etc::runtime {

/// What a process holds, and where on its device.
struct HeldMemory {
  const PlanIndex *index; // of the plan that says what; not owned
  std::vector<HeldShard> shards;
  /// The memory of a shard: all of its boxes, whatever of them has landed.
  std::function<const std::byte *(const HeldShard &)> find;
};

/// The memory of the one shard of `held` that is tensor `tensor` of `to`, shard
/// `shard`, as it is; null where there is none, so that it has to be copied.
const std::byte *findWhole(const HeldMemory &held, const PlanIndex &to,
                           uint32_t tensor, uint32_t shard);

/// Fills a region of a tensor of `to` from what is held: the tensor, its tied
/// copies, or what it is cast from. What is not held comes from the checkpoint,
/// where there is one. The worker's device has the region and what is held.
/// Returns the bytes from the checkpoint.
Result<uint64_t> refill(const HeldMemory &held, const BoxSource *checkpoint,
                        const PlanIndex &to, uint32_t tensor, Region region,
                        Worker &worker);

} // namespace etc::runtime

#endif // ETC_RUNTIME_RECOVERY_REFILL_H
