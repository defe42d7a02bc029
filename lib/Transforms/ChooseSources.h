//===- ChooseSources.h - Who sends what every device lacks ----------------===//

#ifndef ETC_LIB_TRANSFORMS_CHOOSESOURCES_H
#define ETC_LIB_TRANSFORMS_CHOOSESOURCES_H

#include "Demands.h"
#include "Relays.h"

namespace etc {

/// What a choice of sources costs, in bytes.
struct SourceCost {
  int64_t internode = 0;
  int64_t sent = 0, received = 0; ///< of the devices with most

  int64_t getBusiest() const { return std::max(sent, received); }
  /// Worse in nothing, and at most `percent` of the other's in something.
  bool isWorthwhile(const SourceCost &other, int64_t percent) const;
};

/// The sources of all demands, by number.
struct SourceChoice {
  llvm::SmallVector<Transfers> transfers;
  SourceCost cost;
  bool hasRelays = false;
  /// Without relays, what one device at least sends or receives, whichever
  /// holders send.
  int64_t leastBusiest = 0;
};

/// The sources of all demands: previous holders only, levelled where the
/// busiest port sends; or, where this takes a quarter or more off the bytes
/// between nodes or off the busiest port, relays too.
SourceChoice chooseSources(const Demands &demands, const Devices &devices,
                           const Holdings &prev);

/// The same, of previous holders only, in turn.
SourceChoice chooseHolders(const Demands &demands, const Devices &devices,
                           const Holdings &prev);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_CHOOSESOURCES_H
