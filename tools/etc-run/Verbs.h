// What can be asked about a migration that failed, or done with what it left.

#ifndef ETC_RUN_VERBS_H
#define ETC_RUN_VERBS_H

#include "Options.h"
#include "core/plan/PlanIndex.h"

namespace etc::run {

/// etc-run status: what is left, whether it is right, what can be done.
plan::Status printStatus(const plan::PlanIndex &index, const Options &options);

/// etc-run rollback.
plan::Status rollBackMigration(const plan::PlanIndex &index,
                               const Options &options);

/// etc-run inventory: writes inventory.json into the directory.
plan::Status printInventory(const plan::PlanIndex &index,
                            const Options &options);

} // namespace etc::run

#endif // ETC_RUN_VERBS_H
