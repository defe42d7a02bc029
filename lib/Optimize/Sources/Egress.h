//===- Egress.h - The least that the busiest sender sends -----------------===//

#ifndef ETC_LIB_OPTIMIZE_SOURCES_EGRESS_H
#define ETC_LIB_OPTIMIZE_SOURCES_EGRESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace etc {

/// Bytes for one destination that any of several devices may send.
struct Shipment {
  int64_t bytes;
  llvm::SmallVector<int64_t> senders; ///< those that may
  int64_t sender;                     ///< the one that does
  int64_t receiver = 0;               ///< the destination
};

/// Moves shipments from device to device until the busiest sender cannot be
/// relieved, or sends no more than `enough` bytes: along paths on which every
/// device passes one of its own on, found by breadth-first search. With
/// shipments of one size these are the augmenting paths of the flow from
/// shipments to senders, and the result is its optimum; with several sizes it
/// is the least that such paths lead to. Of those with room for a shipment the
/// one takes it over that sends to the same destination already, else the one
/// that sends to fewest: what many hold does not all come from one of them.
void levelEgress(llvm::MutableArrayRef<Shipment> shipments, int64_t devices,
                 int64_t enough);

} // namespace etc

#endif // ETC_LIB_OPTIMIZE_SOURCES_EGRESS_H
