//===- EgressFlow.h - The least egress as a flow --------------------------===//

#ifndef ETC_LIB_OPTIMIZE_SOURCES_EGRESSFLOW_H
#define ETC_LIB_OPTIMIZE_SOURCES_EGRESSFLOW_H

#include "Egress.h"

#include <vector>

namespace etc {

/// Shipments that the same devices may send, which share them as they like.
struct Lot {
  llvm::SmallVector<int64_t> senders;
  llvm::SmallVector<int64_t> shares; ///< bytes that each sender sends
  llvm::SmallVector<size_t> shipments;
};

/// The lots of all shipments, as these are sent.
std::vector<Lot> poolShipments(llvm::ArrayRef<Shipment> shipments);

/// The least bytes that the busiest sender can send, or `enough` if that is
/// more: exact, rounded up. By discrete Newton iteration: what a maximum flow
/// from the devices above a limit to those below leaves there is held by
/// devices that nobody can relieve, whose mean is the next limit.
int64_t findLeastEgress(std::vector<Lot> lots, int64_t devices, int64_t enough);

/// Changes shares until no device sends more than `limit`, which is not below
/// the least.
void spreadEgress(llvm::MutableArrayRef<Lot> lots, int64_t devices,
                  int64_t limit);

} // namespace etc

#endif // ETC_LIB_OPTIMIZE_SOURCES_EGRESSFLOW_H
