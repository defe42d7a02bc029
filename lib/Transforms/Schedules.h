//===- Schedules.h - Rounds that are few, or take little time -------------===//
//
// Searches for schedules within a memory budget, and compares them in seconds.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_SCHEDULES_H
#define ETC_LIB_TRANSFORMS_SCHEDULES_H

#include "RoundPoser.h"
#include "RoundTimes.h"

namespace etc {

struct Schedule {
  rounds::Found found;
  std::vector<Chunk> chunks; ///< [units]
  RoundTimes::Seconds seconds;
};

/// What is tried: all, or less where devices make so many transfers that trials
/// take long; the least is a single trial.
enum class Effort { Full, Less, Least };

/// Whether rounds could take less time than these, but not by `leastGain`
/// seconds.
bool isLeftOut(const RoundTimes::Seconds &seconds, const RoundTimes &times,
               double leastGain);

class ScheduleSearch {
public:
  explicit ScheduleSearch(const ProgramFlows &flows);

  llvm::ArrayRef<rounds::ClassTotals> getTotals() const { return totals; }
  /// One of few rounds, within the budget if there is one. Its seconds are not
  /// counted.
  Schedule find(const rounds::Budget &budget);
  /// Replaces a schedule that is within the budget by one that takes less time,
  /// if there is one: of level rounds, or, where these do not come near the
  /// time of the busiest port, of others; unless these are left out. Returns
  /// the seconds of the one that was given.
  RoundTimes::Seconds shorten(Schedule &schedule, const rounds::Budget &budget,
                              const RoundTimes &times, const PortLoads &loads,
                              Effort effort, double leastGain);

private:
  const ProgramFlows &flows;
  const ItemKinds kinds;
  const std::vector<rounds::ClassTotals> totals;
  RoundPoser few;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_SCHEDULES_H
