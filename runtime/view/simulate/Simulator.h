// How long a plan takes on a cluster, without the cluster.

#ifndef ETC_RUNTIME_VIEW_SIMULATE_SIMULATOR_H
#define ETC_RUNTIME_VIEW_SIMULATE_SIMULATOR_H

#include "view/simulate/Cluster.h"
#include "view/simulate/Workload.h"

#include <functional>

namespace etc::runtime {

/// Bytes by the kind of link, which are exact.
struct LinkBytes {
  uint64_t insideNodes = 0;
  uint64_t betweenNodes = 0;
};
LinkBytes countLinkBytes(const plan::PlanIndex &index, const Workload &work);

struct Forecast {
  double seconds = 0;
  /// The least that the busiest port takes at its full rate.
  double busiestPortSeconds = 0;
};

/// The least that the busiest link or port takes for its bytes at its full
/// rate.
double busiestPortSeconds(const plan::PlanIndex &index, const Workload &work,
                          const Cluster &cluster);

/// Told when a rank ends a round, in seconds from the start.
using OnRoundEnd =
    std::function<void(uint32_t rank, uint32_t round, double seconds)>;

/// Discrete events: a device packs its round; a message starts when both ends
/// are ready and its latency has passed, and shares ports fairly with the
/// others; a device that has everything, and has copied what it keeps, unpacks
/// and answers; one that has all answers begins its next round, the first
/// deferred one when all devices have ended the pause.
Forecast simulate(const plan::PlanIndex &index, const Workload &work,
                  const Cluster &cluster, const OnRoundEnd &onRoundEnd = {});

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_SIMULATE_SIMULATOR_H
