// The roles of a plan: places in the grid of a configuration.

#ifndef ETC_RUNTIME_VIEW_REPORT_ROLES_H
#define ETC_RUNTIME_VIEW_REPORT_ROLES_H

#include "core/plan/PlanIndex.h"

#include <cstdint>
#include <string>
#include <vector>

namespace etc::runtime {

/// "P2T1", or "P2T1D3" where replicas hold different ranges.
struct Role {
  std::string name;
  uint32_t stage = 0, slot = 0;
  /// A program whose devices hold it.
  uint32_t program = 0;
};

/// Which roles a side of a plan has, by stage, slot and replica.
struct RoleTable {
  std::vector<Role> roles;
  /// The role of each program; -1 where its devices have none.
  std::vector<int32_t> ofProgram;
};

RoleTable rolesOf(const plan::PlanIndex &index, plan::Side side);

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_REPORT_ROLES_H
