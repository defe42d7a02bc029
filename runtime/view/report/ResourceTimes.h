// What links and NICs carry, and how long that takes them at their full rate.

#ifndef ETC_RUNTIME_VIEW_REPORT_RESOURCETIMES_H
#define ETC_RUNTIME_VIEW_REPORT_RESOURCETIMES_H

#include "core/plan/PlanIndex.h"
#include "view/simulate/Cluster.h"
#include "view/simulate/Workload.h"

#include <string>
#include <vector>

namespace etc::runtime {

/// One direction of a device's link or of a NIC.
struct ResourceTime {
  std::string name;  ///< "node 1, NIC 3, in", "device 12, link, out"
  uint32_t rank = 0; ///< one that uses it
  uint64_t bytes = 0;
  double seconds = 0;
  std::vector<double> rounds; ///< seconds of each round
};

/// The resources that take longest, at most `most`, the slowest first.
std::vector<ResourceTime> busiestResources(const plan::PlanIndex &index,
                                           const Workload &work,
                                           const Cluster &cluster, size_t most);

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_REPORT_RESOURCETIMES_H
