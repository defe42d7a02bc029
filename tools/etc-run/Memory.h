// Does a migration fit into this host's memory?

#ifndef ETC_RUN_MEMORY_H
#define ETC_RUN_MEMORY_H

#include "core/journal/Journal.h"
#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"

#include <vector>

namespace etc::run {

/// Compares the proved peaks, in this mode, of the ranks that run on this host
/// with the memory that is available. The error, of kind Usage, says how much
/// is missing and what would fit; a resumed run cannot change its mode.
plan::Status checkMemory(const plan::PlanIndex &index,
                         const std::vector<uint32_t> &ranks, runtime::Mode mode,
                         bool isResumed);

/// The same, for a given amount of available bytes.
plan::Status checkMemory(const plan::PlanIndex &index,
                         const std::vector<uint32_t> &ranks, runtime::Mode mode,
                         bool isResumed, uint64_t available);

} // namespace etc::run

#endif // ETC_RUN_MEMORY_H
