// What makes a migration take longer than its busiest link or NIC.

#ifndef ETC_RUNTIME_VIEW_REPORT_TIMEPARTS_H
#define ETC_RUNTIME_VIEW_REPORT_TIMEPARTS_H

#include "view/report/Times.h"

namespace etc::runtime {

/// Seconds: each is what the migration would take without one cause more.
struct TimeParts {
  double predicted = 0;
  double exchange = 0; ///< without packing, and without copies within devices
  double oneRound = 0; ///< of all messages in a single round
  double port = 0;     ///< of the busiest link or NIC, at its full rate
  /// What the device that copies most, or packs and unpacks most, takes for it.
  double copies = 0, packing = 0;
};

TimeParts partsOf(const plan::PlanIndex &index, const Workload &work,
                  const Cluster &cluster, const Prediction &prediction);

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_REPORT_TIMEPARTS_H
