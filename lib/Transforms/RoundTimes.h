//===- RoundTimes.h - What rounds take ------------------------------------===//
//
// Compares schedules in seconds, at the rates that a migration states.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_ROUNDTIMES_H
#define ETC_LIB_TRANSFORMS_ROUNDTIMES_H

#include "UnitTimes.h"

namespace etc {

/// The time of a schedule, as the simulator sees it but for how messages share
/// a port while they travel, and for chunks that are packed by themselves
/// (Packings.h).
class RoundTimes {
public:
  RoundTimes(ResourcesAttr resources, const ProgramFlows &flows,
             llvm::ArrayRef<DeviceProgram> programs, const Devices &devices,
             const BothHoldings &holdings);

  /// Into how many portions flows are divided, for what is sent on to progress
  /// as a pipeline; 1 where nothing is sent on.
  int64_t countPortions(llvm::ArrayRef<rounds::ClassTotals> totals) const;
  /// Of the busiest link or NIC in all that is not deferred: no schedule takes
  /// less.
  double getPortSeconds() const { return portSeconds; }
  struct Seconds {
    /// Of the rounds that are not deferred. What waits for the others is the
    /// end of the first step.
    double pause = 0;
    double all = 0;
    /// Training waits for the pause, and goes on beside the others.
    double getCost() const { return pause + 0.05 * (all - pause); }
  };
  Seconds secondsOf(const rounds::Solution &solution,
                    llvm::ArrayRef<Chunk> chunks) const;

  const TransferRates &getRates() const { return rates; }
  /// What a round takes beside its bytes, in seconds.
  double getBeginning() const { return 1e-9 * double(beginning); }
  /// All transfers that are not deferred, each whole.
  const UnitTimes &getUrgent() const { return urgent; }

private:
  double findPortSeconds() const;

  ResourcesAttr resources;
  const ProgramFlows &flows;
  TransferRates rates;
  UnitTimes urgent;
  int64_t beginning; ///< of a round, in nanoseconds
  double portSeconds;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_ROUNDTIMES_H
