// What devices noted in the journals of a directory.

#ifndef ETC_RUNTIME_RECOVERY_STANDINGS_H
#define ETC_RUNTIME_RECOVERY_STANDINGS_H

#include "core/transport/Deadline.h"
#include "state/inventory/Inventory.h"

#include <functional>

namespace etc::runtime {

/// By rank; nothing where one is missing. An error where one is damaged or of
/// another migration.
Result<Survivors> readStandings(const PlanIndex &index,
                                const std::string &directory);

/// An error where the journal of a device that counts lacks what others could
/// note only after it (checkNoted). What is missing may have come meanwhile.
Status checkNotes(const PlanIndex &index, const std::string &directory,
                  const Survivors &standings,
                  const std::function<bool(uint32_t rank)> &counts);

/// Takes out devices that somebody else says are gone.
Status leaveOut(const PlanIndex &index, const std::vector<uint32_t> &devices,
                Survivors &standings);

/// After a failure: those that have noted that they stopped, or are committed.
/// Waits for all until then.
Result<Survivors> awaitLastNotes(const PlanIndex &index,
                                 const std::string &directory,
                                 const Deadline &deadline);

} // namespace etc::runtime

#endif // ETC_RUNTIME_RECOVERY_STANDINGS_H
