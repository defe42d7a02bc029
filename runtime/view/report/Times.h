// When every device ends every round.

#ifndef ETC_RUNTIME_VIEW_REPORT_TIMES_H
#define ETC_RUNTIME_VIEW_REPORT_TIMES_H

#include "view/report/Report.h"
#include "view/simulate/Workload.h"

#include <cstdint>
#include <vector>

namespace etc::runtime {

/// Times in microseconds from the start. A device begins a round when it has
/// ended the one before.
struct Times {
  double seconds = 0;
  /// The first begin and the last end of every round.
  std::vector<uint64_t> begins, ends;
  /// How long a device's rounds take; devices alike share a track. Empty where
  /// that is more than a page can hold.
  std::vector<std::vector<uint64_t>> tracks;
  std::vector<uint32_t> trackOfRank;
};

/// Of ends in seconds, by rank and round.
Times timesOf(const std::vector<std::vector<double>> &roundEnds);

/// At the rates of a cluster; see predictRounds.
struct Prediction {
  Times times;
  bool isSimulated = false;
  double busiestPortSeconds = 0; // where it is simulated
};
Prediction predictTimes(const plan::PlanIndex &index, const Workload &work,
                        const Cluster &cluster);

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_REPORT_TIMES_H
