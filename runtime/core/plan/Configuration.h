// What a plan's configurations and roles say.

#ifndef ETC_PLAN_CONFIGURATION_H
#define ETC_PLAN_CONFIGURATION_H

#include "core/plan/plan_generated.h"

#include <cstdint>
#include <optional>
#include <string>

namespace etc::plan {

/// The number of ranks; of an inventory, of devices. Saturates.
uint64_t worldOf(const fb::Configuration &configuration);

/// The shorthand that a request accepts, "PP2DP4+zero1+order=pp-dp"; of an
/// inventory "DP4 inventory".
std::string describe(const fb::Configuration &configuration);

/// "P0T1", or "P0T1D3" where replicas hold state of their own; "none" without a
/// role.
std::string describe(const fb::Role *role);

/// "P0T1 <- P2T0": the current and the previous role.
std::string describeRoles(const fb::Program &program);

/// Roles are numbered by stage, slot and, where replicas hold state of their
/// own, replica. The configuration is sound, so that there are no more roles
/// than ranks.
uint64_t roleCount(const fb::Configuration &configuration);
/// The roles of one stage and slot, which follow each other.
uint64_t rolesOfSlot(const fb::Configuration &configuration);
/// The ranks of each role.
uint64_t replicasOfRole(const fb::Configuration &configuration);
/// The number of a role; nothing where the configuration has no such role.
std::optional<uint64_t> numberOfRole(const fb::Configuration &configuration,
                                     const fb::Role &role);

/// The number of a rank's role, by Megatron's rank order; of an inventory, the
/// rank. `rank` is below worldOf().
uint64_t roleOfRank(const fb::Configuration &configuration, uint32_t rank);

/// Where a rank is in its grid.
struct Coordinates {
  uint32_t pp, tp, dp, cp;
};
/// Nothing for an inventory, which has no grid. `rank` is below worldOf().
std::optional<Coordinates> coordinatesOf(const fb::Configuration &configuration,
                                         uint32_t rank);

} // namespace etc::plan

#endif // ETC_PLAN_CONFIGURATION_H
