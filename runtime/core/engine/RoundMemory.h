// What rounds do with memory: what each allocates, binds and releases.

#ifndef ETC_RUNTIME_ENGINE_ROUNDMEMORY_H
#define ETC_RUNTIME_ENGINE_ROUNDMEMORY_H

#include "core/engine/DeviceState.h"
#include "core/journal/Journal.h"

#include <functional>

namespace etc::runtime {

using RoundOps = flatbuffers::Vector<const plan::fb::Op *>;

/// Allocates the shards that a round is the first to write.
Status allocateFor(const PlanIndex &index, uint32_t program,
                   const RoundOps &ops, DeviceState &state);
/// Releases what no later round reads, in safe mode only what was passed on.
void releaseAfter(const RoundOps &ops, Mode mode, DeviceState &state);

/// All of this and no more, of the rounds from `first` on, in the order in
/// which they begin and end where some begin early.
Status rehearseRounds(const PlanIndex &index, uint32_t program, Mode mode,
                      uint32_t first,
                      const std::function<bool(uint32_t)> &mayBeginEarly,
                      DeviceState &state);

} // namespace etc::runtime

#endif // ETC_RUNTIME_ENGINE_ROUNDMEMORY_H
