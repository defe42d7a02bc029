// What a device holds while a plan runs.

#ifndef ETC_RUNTIME_VIEW_SIMULATE_MEMORY_H
#define ETC_RUNTIME_VIEW_SIMULATE_MEMORY_H

#include "core/plan/PlanIndex.h"

#include <vector>

namespace etc::runtime {

/// Live bytes of a round in eager mode, as the plan's peak counts them: state
/// and slabs.
struct RoundMemory {
  uint64_t during = 0; // from its begin on: what it writes is allocated
  uint64_t after = 0;  // when it has released what nobody reads any more
};

/// By round, of each device that runs the program.
std::vector<RoundMemory> memoryOf(const plan::PlanIndex &index,
                                  uint32_t program);

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_SIMULATE_MEMORY_H
