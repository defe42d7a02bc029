#include "view/report/Roles.h"

#include "core/plan/Configuration.h"

#include <map>
#include <tuple>

using namespace etc::runtime;
using etc::plan::PlanIndex;
using etc::plan::Side;
namespace fb = etc::plan::fb;

RoleTable etc::runtime::rolesOf(const PlanIndex &index, Side side) {
  RoleTable table;
  table.ofProgram.assign(index.programCount(), -1);
  std::map<std::tuple<uint32_t, uint32_t, int32_t>, std::vector<uint32_t>>
      programs;
  for (uint32_t p = 0; p != index.programCount(); ++p) {
    const fb::Program &program = index.program(p);
    const fb::Role *role =
        side == Side::Curr ? program.curr_role() : program.prev_role();
    // A stage without layers leaves its ranks nothing to draw.
    if (role && !index.holdings(p, side).empty())
      programs[{role->stage(), role->slot(), role->replica()}].push_back(p);
  }
  for (const auto &[key, members] : programs) {
    const auto &[stage, slot, replica] = key;
    for (uint32_t p : members)
      table.ofProgram[p] = static_cast<int32_t>(table.roles.size());
    const fb::Role role(stage, slot, replica);
    table.roles.push_back(
        {plan::describe(&role), stage, slot, members.front()});
  }
  return table;
}
