//===- Solver.h - Who sends what devices lack -------------------*- C++ -*-===//

#ifndef ETC_OPTIMIZE_SOURCES_SOLVER_H
#define ETC_OPTIMIZE_SOURCES_SOLVER_H

#include "etc/Optimize/Sources/Demands.h"
#include "etc/Optimize/Sources/Fleet.h"

namespace etc {

/// Who sends a fragment to one destination, and how often it was received
/// before that.
struct Source {
  int64_t device = -1;
  unsigned hop = 0;
};

/// The sources of a demand, parallel to its destinations.
using SourceList = llvm::SmallVector<Source>;

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
};

/// The sources of all demands, in parts where that is worth it: previous
/// holders, levelled where the busiest port sends; relays where these take a
/// quarter or more off the bytes between nodes or off the busiest port. With
/// `byTime`, routes where they make the slowest link or NIC much faster. Every
/// fragment has a living holder.
SourcedDemands solveSources(Demands demands, const Fleet &fleet, bool byTime);

/// Previous holders only, in turn: the paper's method.
SourcedDemands solveInTurn(Demands demands, const Fleet &fleet);

} // namespace etc

#endif // ETC_OPTIMIZE_SOURCES_SOLVER_H
