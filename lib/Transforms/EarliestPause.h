//===- EarliestPause.h - When a pause ends at the earliest ----------------===//

#ifndef ETC_LIB_TRANSFORMS_EARLIESTPAUSE_H
#define ETC_LIB_TRANSFORMS_EARLIESTPAUSE_H

#include "UnitTimes.h"

namespace etc {

/// Seconds that the rounds of a schedule that are not deferred take at least,
/// however messages share ports: a device ends a round no sooner than its own
/// link and NIC have carried all that is its, and than each of its messages has
/// taken the whole of a port, once both ends have begun the round. Latencies
/// and packing are left out, so that no way to predict a plan's time says less.
double findEarliestPause(const TransferRates &rates,
                         const rounds::Solution &solution,
                         llvm::ArrayRef<Chunk> chunks);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_EARLIESTPAUSE_H
