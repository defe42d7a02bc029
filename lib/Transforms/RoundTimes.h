//===- RoundTimes.h - What rounds take ------------------------------------===//
//
// Compares schedules in seconds, at the rates that a migration states.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_ROUNDTIMES_H
#define ETC_LIB_TRANSFORMS_ROUNDTIMES_H

#include "CutFlows.h"
#include "etc/Analysis/Devices.h"

namespace etc {

/// The time of a schedule, as the simulator sees it but for how messages share
/// a port while they travel: a device ends a round when it and all whom it
/// sends to or receives from have ended the round before, and the slowest link
/// or NIC of theirs has carried what it has to in this round.
class RoundTimes {
public:
  RoundTimes(ResourcesAttr resources, const ProgramFlows &flows,
             llvm::ArrayRef<DeviceProgram> programs, const Devices &devices);

  /// Into how many portions flows are divided, for what is sent on to progress
  /// as a pipeline; 1 where nothing is sent on.
  int64_t countPortions(llvm::ArrayRef<rounds::ClassTotals> totals) const;
  /// Where types are deferred, of the rounds before theirs.
  double secondsOf(const rounds::Solution &solution,
                   llvm::ArrayRef<Chunk> chunks) const;

private:
  class Clock;

  ResourcesAttr resources;
  const ProgramFlows &flows;
  llvm::ArrayRef<DeviceProgram> programs;
  const Devices &devices;
  llvm::SmallVector<int64_t> nicOf; ///< [devices]
  int64_t beginning;                ///< of a round, in nanoseconds
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_ROUNDTIMES_H
