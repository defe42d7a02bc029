// When every device ends every round.

#ifndef ETC_RUNTIME_REPORT_TIMES_H
#define ETC_RUNTIME_REPORT_TIMES_H

#include "report/Report.h"
#include "simulate/Workload.h"

#include <cstdint>
#include <optional>
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

/// By simulation; where that would take long, every round takes as long as its
/// busiest device, and all begin it together.
struct Prediction {
  Times times;
  bool isSimulated = false;
  double busiestPortSeconds = 0; // where it is simulated
};
Prediction predictTimes(const plan::PlanIndex &index, const Workload &work,
                        const Cluster &cluster);

/// What a plan says of its own time, at the rates that it states.
struct PlanTime {
  double boundSeconds = 0; ///< no routing of its roles is below; 0: none stated
  double portSeconds = 0;  ///< of its busiest link or port
  double predictedSeconds = 0;
  /// Of the rounds that are not deferred; 0 where none is.
  double pauseBoundSeconds = 0, pauseSeconds = 0;
};
/// Nothing where the plan states no rates.
std::optional<PlanTime> timeOf(const plan::PlanIndex &index);

} // namespace etc::runtime

#endif // ETC_RUNTIME_REPORT_TIMES_H
