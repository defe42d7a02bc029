//===- ChooseSources.h - Who sends what every device lacks ----------------===//

#ifndef ETC_LIB_OPTIMIZE_SOURCES_CHOOSESOURCES_H
#define ETC_LIB_OPTIMIZE_SOURCES_CHOOSESOURCES_H

#include "Egress.h"
#include "etc/Optimize/Sources/Solver.h"

namespace etc {

SourceCost costOf(const Demands &demands, const Fleet &fleet,
                  llvm::ArrayRef<SourceList> transfers);

/// All transfers, demand by demand, and who may send them: the holders on the
/// destination's node, or all of them where it has none.
std::vector<Shipment> findShipments(const Demands &demands, const Fleet &fleet,
                                    llvm::ArrayRef<SourceList> transfers);

/// The sources of all demands: previous holders only, levelled where the
/// busiest port sends; or, where this takes a quarter or more off the bytes
/// between nodes or off the busiest port, relays too.
SourceChoice chooseSources(const Demands &demands, const Fleet &fleet);

/// The same, of previous holders only, in turn.
SourceChoice chooseHolders(const Demands &demands, const Fleet &fleet);

} // namespace etc

#endif // ETC_LIB_OPTIMIZE_SOURCES_CHOOSESOURCES_H
