//===- RoundClock.h - When devices end rounds -----------------------------===//

#ifndef ETC_LIB_TRANSFORMS_ROUNDCLOCK_H
#define ETC_LIB_TRANSFORMS_ROUNDCLOCK_H

#include "UnitTimes.h"

namespace etc {

/// Runs through rounds. A message arrives when both its devices have begun the
/// round, and the slower of their links or NICs has carried what it has to in
/// it; meanwhile, devices copy what they keep. A device ends a round when it,
/// and all that it sends to, have received, and copied, all of theirs.
class RoundClock {
public:
  RoundClock(const TransferRates &rates, const UnitTimes &units)
      : rates(rates), units(units), isUsed(rates.getWaysCount()),
        ports(rates.getPortCount()), packs(rates.getDeviceCount()),
        copies(rates.getDeviceCount()), ends(rates.getDeviceCount()),
        arrivals(rates.getDeviceCount()) {}

  /// To the open round.
  void add(unsigned unit);
  /// `beginning` is what a round costs by itself, in seconds.
  void endRound(double beginning);
  /// All devices go on together, as after the pause.
  void waitForAll() { ends.assign(ends.size(), getEnd()); }
  double getEnd() const { return *llvm::max_element(ends); }
  /// Seconds of the busiest link or NIC in the open round.
  double getBusiest() const;

private:
  /// Seconds of each direction.
  struct Load {
    double out = 0, in = 0;
    double most() const { return std::max(out, in); }
  };

  void arrive(int64_t device, double seconds) {
    arrivals[device] = std::max(arrivals[device], seconds);
  }
  double copiedAt(int64_t device) const {
    return ends[device] + packs[device].out + copies[device];
  }

  const TransferRates &rates;
  const UnitTimes &units;
  /// Of the open round: ways, by number; devices that copy; loads of ports;
  /// what devices pack, and copy.
  llvm::BitVector isUsed;
  llvm::SmallVector<unsigned> used;
  llvm::SmallVector<int64_t> copying;
  std::vector<Load> ports, packs;
  std::vector<double> copies;
  std::vector<double> ends, arrivals; ///< [devices]
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_ROUNDCLOCK_H
