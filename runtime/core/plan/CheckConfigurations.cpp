// Configurations, and the roles that programs have in them.

#include "core/plan/Configuration.h"
#include "core/plan/FormatRules.h"

using namespace etc::plan;

static Status checkStages(const fb::Configuration &c) {
  if (!c.stages())
    return Status::success();
  const uint64_t chunks = mulBytes(c.pp(), c.vpp());
  if (c.stages()->size() != chunks)
    return malformed(".stages: ", c.stages()->size(), " entries, pp x vpp is ",
                     chunks);
  return Status::success();
}

Status etc::plan::checkConfiguration(const fb::Configuration &c) {
  for (auto [name, size] :
       {std::pair("pp", c.pp()), std::pair("tp", c.tp()),
        std::pair("dp", c.dp()), std::pair("cp", c.cp()),
        std::pair("ep", c.ep()), std::pair("etp", c.etp()),
        std::pair("vpp", c.vpp()), std::pair("fsdp", c.fsdp())})
    if (size == 0)
      return malformed(".", name, ": 0 is not at least 1");
  if (c.dp() % c.fsdp() != 0)
    return malformed(".fsdp: ", c.fsdp(), " does not divide dp, ", c.dp());
  if (c.order() > fb::RankOrder::MAX)
    return malformed(".order: ", static_cast<int>(c.order()),
                     " is not a known order");
  if (c.mtp_stage() < -1 || c.mtp_stage() >= static_cast<int64_t>(c.pp()))
    return malformed(".mtp_stage: ", c.mtp_stage(), " is not in [-1, ", c.pp(),
                     ")");
  const uint64_t ranks = worldOf(c) / c.pp(),
                 ofExperts = mulBytes(c.etp(), c.ep());
  if (ranks % ofExperts != 0)
    return malformed(".ep: etp x ep is ", ofExperts,
                     ", which does not divide the ", ranks,
                     " ranks of a stage");
  return checkStages(c);
}

static Status checkPlacement(const char *side,
                             const fb::Configuration &configuration,
                             const Uints &placement, uint64_t deviceCount,
                             bool isSlice) {
  if (Status s = checkConfiguration(configuration); !s.ok())
    return under(side, s);
  if (isSlice)
    return Status::success();
  const std::string path = std::string(side) + "_placement";
  if (placement.size() != worldOf(configuration))
    return malformed(path, ": ", placement.size(), " entries, ", side, " has ",
                     worldOf(configuration), " ranks");
  for (uint32_t i = 0; i != placement.size(); ++i)
    if (placement[i] >= deviceCount)
      return outOfRange(item(path, i), placement[i], deviceCount);
  return Status::success();
}

Status etc::plan::checkConfigurations(const fb::Plan &plan,
                                      uint64_t deviceCount) {
  if (Status s = checkPlacement("prev", *plan.prev(), *plan.prev_placement(),
                                deviceCount, plan.slice() != nullptr);
      !s.ok())
    return s;
  return checkPlacement("curr", *plan.curr(), *plan.curr_placement(),
                        deviceCount, plan.slice() != nullptr);
}

Status etc::plan::checkRole(const fb::Configuration &configuration,
                            const fb::Role *role) {
  if (!role)
    return Status::success();
  // An inventory is one stage of one slot, a replica for each device.
  if (role->stage() >= configuration.pp())
    return outOfRange(".stage", role->stage(), configuration.pp());
  const uint64_t ranks = worldOf(configuration) / configuration.pp();
  if (role->slot() >= ranks)
    return outOfRange(".slot", role->slot(), ranks);
  if (role->replica() < -1 || role->replica() >= static_cast<int64_t>(ranks))
    return malformed(".replica: ", role->replica(), " is not in [-1, ", ranks,
                     ")");
  return Status::success();
}
