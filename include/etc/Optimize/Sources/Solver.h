//===- Solver.h - Who sends what devices lack -------------------*- C++ -*-===//

#ifndef ETC_OPTIMIZE_SOURCES_SOLVER_H
#define ETC_OPTIMIZE_SOURCES_SOLVER_H

#include "etc/Optimize/Routing/Bound.h"
#include "etc/Optimize/Sources/Demands.h"
#include "etc/Optimize/Sources/Fleet.h"
#include "etc/Optimize/Sources/TiedContents.h"

#include "llvm/ADT/BitVector.h"

namespace etc {

/// Who sends a fragment to one destination, and how often it was received
/// before that.
struct Source {
  int64_t device = -1;
  unsigned hop = 0;
  /// Whether the device, or the destination, only passes the fragment on.
  bool fromTransit = false, toTransit = false;
};

/// The sources of a demand, parallel to its destinations. With routes these
/// include devices that do not lack it, and pass it on.
using SourceList = llvm::SmallVector<Source>;

/// What links and NICs carry, in bytes a second of each direction. A node of n
/// devices has `nics` NICs, and its device i uses NIC i * nics / n.
struct PortRates {
  int64_t link, nic;
  int64_t nics;
};

/// What the time of transfers depends on.
struct Timing {
  PortRates rates;
  /// The devices that have a role before or after.
  llvm::BitVector participants;
  /// Whether routes are chosen by their time.
  bool choosesRoutes;
  /// What a device may hold of one tensor to pass it on, in parts per million
  /// of what the busiest sends or receives: it takes room in the budget.
  int64_t transitPpm = 0;
  /// What routes have to save (PlanningTime.h), in seconds.
  double leastGain = 0;
  /// Whether bounds may have tolls.
  bool findsTolls = true;
  /// Seconds: what takes as long is not wanted, and has no tolls (0: all is
  /// wanted).
  double fasterThan = 0;
  /// What bounds count in place of what demands list of tied tensors.
  TiedContents tied = {};
};

/// What sources cost, in bytes.
struct SourceCost {
  int64_t internode = 0;
  int64_t sent = 0, received = 0; ///< of the devices with most

  int64_t getBusiest() const { return std::max(sent, received); }
  /// Worse in nothing, and at most `percent` of the other's in something.
  bool isWorthwhile(const SourceCost &other, int64_t percent) const;
};

/// The sources of all demands, by number.
struct SourceChoice {
  std::vector<SourceList> sources;
  SourceCost cost;
  bool hasRelays = false;
  /// Without relays, the least that the busiest port sends or receives where
  /// holders share what they send as they like.
  int64_t leastBusiest = 0;
};

/// Demands, and their sources.
struct SourcedDemands {
  Demands demands;
  SourceChoice choice;
  /// Cuts that no routing is faster than, as routing::findBounds lists them,
  /// and whether routes replaced the sources that bytes decide; only with
  /// `Timing`.
  std::vector<routing::Cut> bounds = {};
  bool isRouted = false;
  /// Whether routes were not looked for, since they could save too little.
  bool isLeftOut = false;
};

/// The sources of all demands, in parts where that is worth it: previous
/// holders, levelled where the busiest port sends; relays where these take a
/// quarter or more off the bytes between nodes or off the busiest port. With
/// `timing` the bound of any routing's time, too, and if it asks for them,
/// routes where they make the slowest link or NIC much faster. Every fragment
/// has a living holder.
SourcedDemands solveSources(Demands demands, const Fleet &fleet,
                            const Timing *timing = nullptr);

/// Previous holders only, in turn: the paper's method. With `timing` the bound
/// of any routing's time, too.
SourcedDemands solveInTurn(Demands demands, const Fleet &fleet,
                           const Timing *timing = nullptr);

} // namespace etc

#endif // ETC_OPTIMIZE_SOURCES_SOLVER_H
