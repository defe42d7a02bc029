// The tolls of a bound of time: which links and NICs take them.

#ifndef ETC_PLAN_PLANTOLLS_H
#define ETC_PLAN_PLANTOLLS_H

#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"
#include "core/plan/TotalRate.h"
#include "etc/Tolls.h"

#include <string>

namespace etc::plan {

/// Checks the lists of a bound that has tolls, of a plan that has resources.
Status checkTolls(const std::string &name, const fb::Plan &plan,
                  const fb::TimeBound &bound);

/// Links and NICs that take tolls, each once for what it sends and once for
/// what it receives.
struct TollEnds {
  uint64_t links = 0, nics = 0;

  explicit TollEnds(const fb::Tolls &tolls);
  uint64_t rate(const fb::Resources &resources) const {
    return totalRate(links, resources.link_rate(), nics, resources.nic_rate());
  }
};

/// Which NIC a device has, by the first device of its node that has it.
uint32_t firstOfNic(const PlanIndex &index, uint32_t device);

/// The plan's participants as TollCount has them, by rank. They are at most
/// TollCount::kMostDevices.
TollCount tollsOf(const PlanIndex &index, const fb::Tolls &tolls);

} // namespace etc::plan

#endif // ETC_PLAN_PLANTOLLS_H
