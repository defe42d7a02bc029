#include "core/plan/FormatCheck.h"

#include "core/plan/FormatRules.h"
#include "core/plan/World.h"

using namespace etc::plan;

Status etc::plan::outOfRange(const std::string &path, uint64_t value,
                             uint64_t end) {
  return malformed(path, ": ", value, " is not in [0, ", end, ")");
}

/// The first position whose value is not above the one before.
static uint32_t findDisorder(const Uints &list) {
  for (uint32_t i = 1; i < list.size(); ++i)
    if (list[i] <= list[i - 1])
      return i;
  return list.size();
}

Status etc::plan::checkAscending(const std::string &path, const Uints &list) {
  uint32_t i = findDisorder(list);
  if (i == list.size())
    return Status::success();
  return malformed(item(path, i), ": ", list[i], " after ", list[i - 1],
                   ", devices ascend");
}

/// What a slice has in short, or not at all, is not listed in full.
static Status checkLeftOut(const fb::Plan &plan) {
  if (!plan.slice())
    return Status::success();
  for (auto [name, list] : {std::pair("nodes", plan.nodes()),
                            std::pair("participants", plan.participants()),
                            std::pair("prev_placement", plan.prev_placement()),
                            std::pair("curr_placement", plan.curr_placement()),
                            std::pair("barred", plan.barred())})
    if (list && list->size())
      return malformed(name, ": a slice leaves it out");
  if (plan.certificates() && plan.certificates()->size())
    return malformed("certificates: a slice leaves them out");
  if (plan.resources() || plan.time_bound() || plan.pause_bound() ||
      plan.role_bound())
    return malformed("resources: a slice leaves them and their bounds out");
  if (plan.programs()->size() != 1 ||
      plan.programs()->Get(0)->devices()->size() != 1)
    return malformed("programs: a slice has one, of one device");
  return Status::success();
}

static Status checkWorld(const fb::Plan &plan) {
  if (Status s = checkLeftOut(plan); !s.ok())
    return s;
  const Result<World> world = readWorld(plan);
  if (!world)
    return world.status();
  uint64_t deviceCount = 0;
  for (uint32_t i = 0; i != world->nodes.size(); ++i) {
    if (world->nodes[i] == 0)
      return malformed(item("nodes", i), ": a node has at least one device");
    deviceCount += world->nodes[i];
  }
  if (deviceCount > kMostDevices)
    return malformed("nodes: ", deviceCount, " devices, the most are ",
                     kMostDevices);
  const std::vector<uint32_t> &participants = world->participants;
  if (participants.empty())
    return malformed("participants: at least one is needed");
  if (Status s = checkAscending("participants", *plan.participants()); !s.ok())
    return s;
  if (participants.back() >= deviceCount)
    return outOfRange(item("participants", participants.size() - 1),
                      participants.back(), deviceCount);
  if (plan.slice() && plan.slice()->rank() >= participants.size())
    return outOfRange("slice.rank", plan.slice()->rank(), participants.size());
  return checkConfigurations(plan, deviceCount);
}

Status etc::plan::checkFormat(const fb::Plan &plan) {
  for (auto check : {checkWorld, checkTensors, checkShards, checkPrograms,
                     checkCertificates, checkResources})
    if (Status status = check(plan); !status.ok())
      return status;
  return Status::success();
}
