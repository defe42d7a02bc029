// What a plan makes every device do, round by round, in bytes.

#ifndef ETC_RUNTIME_VIEW_SIMULATE_WORKLOAD_H
#define ETC_RUNTIME_VIEW_SIMULATE_WORKLOAD_H

#include "core/plan/PlanIndex.h"

#include <vector>

namespace etc::runtime {

struct SimulatedMessage {
  uint32_t from, to; // ranks
  uint64_t bytes;
};

/// One device in one round.
struct DeviceStep {
  uint64_t packBytes = 0;   // that go through the send slab
  uint64_t unpackBytes = 0; // ... and come through the receive slab
  uint64_t copyBytes = 0;   // kept by a copy, zeroed or derived
};

struct Workload {
  /// By round, then by rank.
  std::vector<std::vector<DeviceStep>> steps;
  /// By round.
  std::vector<std::vector<SimulatedMessage>> messages;
};

Workload workloadOf(const plan::PlanIndex &index);
/// Of all `count` lanes of a plan that states one: each does what it does.
Workload workloadOfLanes(const plan::PlanIndex &lane, uint32_t count);
/// Of all sections, whose devices `all` has, of what one of each kind does.
Workload workloadOfSections(const Workload &kinds,
                            const plan::PlanIndex &stated,
                            const plan::PlanIndex &all);

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_SIMULATE_WORKLOAD_H
