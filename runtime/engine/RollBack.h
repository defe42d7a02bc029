// Giving up a migration whose previous state is still whole.

#ifndef ETC_RUNTIME_ENGINE_ROLLBACK_H
#define ETC_RUNTIME_ENGINE_ROLLBACK_H

#include "engine/Keeping.h"
#include "journal/Holdings.h"

namespace etc::runtime {

/// Whether every device still has its previous state; the error, of kind Usage,
/// says which tensor has gone, or that the migration is committed.
Status checkRollBack(const PlanIndex &index, const Keeping &keeping);

/// Notes on all devices that the migration is given up, and drops the current
/// state. A rollback that was interrupted can be repeated; one is refused,
/// before anything is noted, while a process still has a journal.
Status rollBack(const PlanIndex &index, const Keeping &keeping, Mode mode);

} // namespace etc::runtime

#endif // ETC_RUNTIME_ENGINE_ROLLBACK_H
