#include "plan/FormatCheck.h"

#include "plan/FormatRules.h"

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

static Status checkWorld(const fb::Plan &plan) {
  uint64_t deviceCount = 0;
  for (uint32_t i = 0; i != plan.nodes()->size(); ++i) {
    if (plan.nodes()->Get(i) == 0)
      return malformed(item("nodes", i), ": a node has at least one device");
    deviceCount += plan.nodes()->Get(i);
  }
  const Uints &participants = *plan.participants();
  if (participants.size() == 0)
    return malformed("participants: at least one is needed");
  if (Status s = checkAscending("participants", participants); !s.ok())
    return s;
  uint32_t last = participants[participants.size() - 1];
  if (last >= deviceCount)
    return outOfRange(item("participants", participants.size() - 1), last,
                      deviceCount);
  return checkConfigurations(plan, deviceCount);
}

Status etc::plan::checkFormat(const fb::Plan &plan) {
  for (auto check : {checkWorld, checkTensors, checkShards, checkPrograms,
                     checkCertificates})
    if (Status status = check(plan); !status.ok())
      return status;
  return Status::success();
}
