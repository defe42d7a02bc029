// The table of resources, and the bound of time that rests on it.

#include "core/plan/FormatRules.h"
#include "core/plan/PlanTolls.h"
#include "core/plan/TotalRate.h"

#include <algorithm>

using namespace etc::plan;

/// Rates are divided by, and numbers of NICs multiplied with those of devices.
constexpr uint64_t kMostRate = uint64_t{1} << 50;
constexpr uint64_t kMostLatency = uint64_t{1} << 42; // more than an hour
constexpr uint32_t kMostNics = 1 << 20;

namespace {
struct Amount {
  const char *name;
  uint64_t value, least, most;
};
} // namespace

static Status checkAmounts(const char *table,
                           std::initializer_list<Amount> amounts) {
  for (const Amount &amount : amounts)
    if (amount.value < amount.least || amount.value > amount.most)
      return malformed(table, ".", amount.name, ": ", amount.value,
                       " is not in [", amount.least, ", ", amount.most, "]");
  return Status::success();
}

static Status checkTime(const std::string &name, uint64_t bytes,
                        uint64_t rate) {
  return checkAmounts(name.c_str(), {{"bytes", bytes, 1, INT64_MAX},
                                     {"rate", rate, 1, kTooFast - 1}});
}

/// Bytes that cross the border of listed nodes or devices.
static Status checkCrossing(const std::string &name,
                            const flatbuffers::Vector<uint32_t> &cells,
                            uint64_t bytes, uint64_t rate, uint64_t count,
                            const char *listName = "inside") {
  const std::string list = name + "." + listName;
  if (cells.size() == 0)
    return malformed(list, ": at least one is needed");
  if (Status s = checkAscending(list, cells); !s.ok())
    return s;
  const uint32_t last = cells.size() - 1;
  if (cells.Get(last) >= count)
    return outOfRange(item(list, last), cells.Get(last), count);
  return checkTime(name, bytes, rate);
}

/// Ascending devices include ascending ones of them, each once.
static Status checkInner(const std::string &name, const fb::TimeBound &bound) {
  const flatbuffers::Vector<uint32_t> *inner = bound.inner();
  if (!inner)
    return Status::success();
  const std::string list = name + ".inner";
  if (inner->size() == 0)
    return malformed(list, ": at least one is needed");
  if (Status s = checkAscending(list, *inner); !s.ok())
    return s;
  if (!std::includes(bound.devices()->begin(), bound.devices()->end(),
                     inner->begin(), inner->end()))
    return malformed(list, ": some are not in devices");
  return Status::success();
}

static Status checkRoleBound(const fb::Plan &plan, uint64_t devices) {
  const fb::RoleBound *bound = plan.role_bound();
  if (!bound)
    return Status::success();
  if (!plan.resources())
    return malformed("role_bound: the plan has no resources");
  if (bound->witness() > fb::RoleWitness::MAX)
    return malformed("role_bound.witness: ", int(bound->witness()),
                     " is not one of each, others, fewest");
  if (bound->place() > fb::Place::MAX)
    return malformed("role_bound.place: ", int(bound->place()),
                     " is not one of pack, tp, any");
  const uint64_t cells = bound->of_nodes() ? plan.nodes()->size() : devices;
  return checkCrossing("role_bound", *bound->inside(), bound->bytes(),
                       bound->rate(), cells);
}

Status etc::plan::checkResources(const fb::Plan &plan) {
  if (const fb::Resources *resources = plan.resources()) {
    Status status = checkAmounts(
        "resources",
        {{"link_rate", resources->link_rate(), 1, kMostRate},
         {"link_latency", resources->link_latency(), 0, kMostLatency},
         {"nics", resources->nics(), 1, kMostNics},
         {"nic_rate", resources->nic_rate(), 1, kMostRate},
         {"nic_latency", resources->nic_latency(), 0, kMostLatency},
         {"pack_rate", resources->pack_rate(), 1, kMostRate},
         {"acknowledgements", resources->acknowledgements(), 0, 999999}});
    if (!status.ok())
      return status;
  }
  uint64_t devices = 0;
  for (uint32_t count : *plan.nodes())
    devices += count;
  for (auto [name, bound] : {std::pair("time_bound", plan.time_bound()),
                             std::pair("pause_bound", plan.pause_bound())}) {
    if (!bound)
      continue;
    if (!plan.resources())
      return malformed(name, ": the plan has no resources");
    if (bound->tolls()) {
      if (Status s = checkTolls(name, plan, *bound); !s.ok())
        return s;
      if (Status s = checkTime(name, bound->bytes(), bound->rate()); !s.ok())
        return s;
      continue;
    }
    if (Status s = checkCrossing(name, *bound->devices(), bound->bytes(),
                                 bound->rate(), devices, "devices");
        !s.ok())
      return s;
    if (Status s = checkInner(name, *bound); !s.ok())
      return s;
  }
  return checkRoleBound(plan, devices);
}
