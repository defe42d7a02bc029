//===- ChooseSources.h - Who sends what every device lacks ----------------===//

#ifndef ETC_LIB_TRANSFORMS_CHOOSESOURCES_H
#define ETC_LIB_TRANSFORMS_CHOOSESOURCES_H

#include "Demands.h"
#include "Egress.h"
#include "Relays.h"

namespace etc {

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
  llvm::SmallVector<Transfers> transfers;
  SourceCost cost;
  bool hasRelays = false;
  /// Without relays, the least that the busiest port sends or receives where
  /// holders share what they send as they like.
  int64_t leastBusiest = 0;
};

SourceCost costOf(const Demands &demands, const Devices &devices,
                  llvm::ArrayRef<Transfers> transfers);

/// All transfers, demand by demand, and who may send them: the holders on the
/// destination's node, or all of them where it has none.
std::vector<Shipment> findShipments(const Demands &demands,
                                    const Devices &devices,
                                    const Holdings &prev,
                                    llvm::ArrayRef<Transfers> transfers);

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
