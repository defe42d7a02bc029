// What a plan takes at the rates that it states, and when its rounds end.

#ifndef ETC_RUNTIME_VIEW_SIMULATE_PLANTIME_H
#define ETC_RUNTIME_VIEW_SIMULATE_PLANTIME_H

#include "view/simulate/Cluster.h"
#include "view/simulate/Workload.h"

#include <optional>
#include <vector>

namespace etc::runtime {

/// By simulation; where that would take long, by an estimate in which a message
/// takes as long as the busier of its ports is busy in its round.
struct RoundEnds {
  std::vector<std::vector<double>> seconds; ///< [ranks][rounds], from the start
  bool isSimulated = false;
  double busiestPortSeconds = 0; ///< where it is simulated
};
RoundEnds predictRounds(const plan::PlanIndex &index, const Workload &work,
                        const Cluster &cluster, double mostSteps);

/// What a plan says of its own time, at the rates that it states.
struct PlanTime {
  double boundSeconds = 0; ///< no routing of its roles is below; 0: none stated
  double portSeconds = 0;  ///< of its busiest link or port
  double predictedSeconds = 0;
  bool isSimulated = true; ///< else an estimate, of very many messages
  /// Of the rounds that are not deferred; 0 where no state is.
  double pauseBoundSeconds = 0, pauseSeconds = 0;
  /// Nothing is below, whichever roles are allowed; 0: none stated.
  double roleBoundSeconds = 0;
};
/// Nothing where the plan states no rates.
std::optional<PlanTime> timeOf(const plan::PlanIndex &index);
/// The same for what its devices do, and whether that is simulated. Where it is
/// not, the plan is asked for nothing but its devices.
std::optional<PlanTime> timeOf(const plan::PlanIndex &index,
                               const Workload &work);
bool isSimulated(const Workload &work);

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_SIMULATE_PLANTIME_H
