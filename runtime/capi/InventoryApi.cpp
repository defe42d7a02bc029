// What a participant holds, through the C API.

#include "capi/Migration.h"

#include "recovery/RecoveryMember.h"
#include "state/inventory/Inventory.h"

using namespace etc::runtime;

/// Why what a migration holds can't be told now.
static Status checkReadable(const Migration &migration) {
  if (migration.isAtTail())
    return Status(ErrorKind::Usage,
                  "inventory: the migration's deferred part still runs: finish "
                  "it first");
  if (migration.outcome() == ETC_UNREADABLE)
    return Status(ErrorKind::Usage,
                  "inventory: operations on the GPU did not complete: nothing "
                  "that it holds can be read");
  return Status::success();
}

static Status give(const PlanIndex &index, uint32_t rank,
                   const Standing &standing, etc_value *json) {
  if (!json)
    return Status(ErrorKind::Usage, "inventory: an argument is NULL");
  json->bytes = formatHeld(index, rank, standing);
  return Status::success();
}

extern "C" {

etc_error *etc_migration_inventory(const etc_migration *migration,
                                   etc_value *json) {
  return guarded([&]() -> Status {
    const Migration &asked = *migration->migration;
    if (Status s = checkReadable(asked); !s.ok())
      return s;
    const PlanIndex &index = asked.openPlan()->index();
    return give(index, *index.rankOf(asked.device()), asked.standing(), json);
  });
}

etc_error *etc_plan_inventory(const etc_plan *plan, etc_side side,
                              uint32_t participant, etc_value *json) {
  return guarded([&]() -> Status {
    const PlanIndex &index = plan->open->index();
    if (participant >= index.rankCount() || !index.hasProgramOf(participant))
      return Status(ErrorKind::Usage,
                    text("inventory: the plan does not say what participant ",
                         participant, " holds"));
    return give(index, participant,
                standingAt(index, participant, sideOf(side)), json);
  });
}

} // extern "C"
