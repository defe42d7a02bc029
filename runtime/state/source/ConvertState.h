// From files to files: a migration without devices.

#ifndef ETC_RUNTIME_STATE_SOURCE_CONVERTSTATE_H
#define ETC_RUNTIME_STATE_SOURCE_CONVERTSTATE_H

#include "core/engine/RoundExecutor.h"
#include "state/source/StateFolder.h"
#include "state/source/StoredState.h"

namespace etc::runtime {

/// What a conversion came to.
struct Conversion {
  uint64_t readBytes = 0;
  uint64_t writtenBytes = 0;
  uint32_t files = 0;
  double seconds = 0;
  double verifySeconds = 0;
};

/// Writes the current shards of every rank from what is stored, box by box, so
/// that the memory that it takes does not grow with the state; then the index.
Result<Conversion> convertState(const PlanIndex &index, const StoredState &from,
                                const StateFolder &to, Verify verify);

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_SOURCE_CONVERTSTATE_H
