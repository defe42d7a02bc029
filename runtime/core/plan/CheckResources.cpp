// The table of resources, and the bound of time that rests on it.

#include "core/plan/FormatRules.h"

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

static Status checkTimeBound(const std::string &name,
                             const fb::TimeBound &bound, uint64_t devices) {
  const std::string list = name + ".devices";
  if (bound.devices()->size() == 0)
    return malformed(list, ": at least one is needed");
  if (Status s = checkAscending(list, *bound.devices()); !s.ok())
    return s;
  const uint32_t last = bound.devices()->size() - 1;
  if (bound.devices()->Get(last) >= devices)
    return outOfRange(item(list, last), bound.devices()->Get(last), devices);
  return checkAmounts(name.c_str(), {{"bytes", bound.bytes(), 1, INT64_MAX},
                                     {"rate", bound.rate(), 1, INT64_MAX}});
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
    if (Status s = checkTimeBound(name, *bound, devices); !s.ok())
      return s;
  }
  return Status::success();
}
