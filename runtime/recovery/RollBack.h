// Giving up a migration whose previous state is still whole.

#ifndef ETC_RUNTIME_RECOVERY_ROLLBACK_H
#define ETC_RUNTIME_RECOVERY_ROLLBACK_H

#include "core/engine/Keeping.h"
#include "core/journal/HeldShards.h"

namespace etc::runtime {

/// How many devices have no previous state yet.
size_t countUnfilled(const Keeping &keeping);

/// Whether what the devices hold is the job's state, old, new or in between. It
/// is not where one has no previous state yet and none has released anything:
/// then all of the state is where the previous state comes from.
bool isBegun(const PlanIndex &index, const Keeping &keeping);

/// Whether every device has its previous state, still; the error, of kind
/// Usage, says which tensor has gone, that the migration is committed, or that
/// it has not begun.
Status checkRollBack(const PlanIndex &index, const Keeping &keeping);

/// Notes on all devices that the migration is given up, and drops the current
/// state. A rollback that was interrupted can be repeated; one is refused,
/// before anything is noted, while a process still has a journal.
Status rollBack(const PlanIndex &index, const Keeping &keeping, Mode mode);

} // namespace etc::runtime

#endif // ETC_RUNTIME_RECOVERY_ROLLBACK_H
