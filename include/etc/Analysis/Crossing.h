//===- Crossing.h - Bytes that cross the border of some devices -----------===//

#ifndef ETC_ANALYSIS_CROSSING_H
#define ETC_ANALYSIS_CROSSING_H

#include "etc/Analysis/Needs.h"
#include "etc/Tolls.h"

#include "llvm/ADT/BitVector.h"

namespace etc {

/// The bytes that some of the devices need and none of `holders` held, in the
/// types that move, or in those that do in the pause: each once, a tied copy
/// and its twin together.
int64_t countEntering(const llvm::BitVector &devices,
                      const llvm::BitVector &holders, const TensorTable &table,
                      const BothHoldings &holdings, const Devices &fleet,
                      const DeviceNeeds &needs, bool ofPause = false);

/// The bytes that have to leave the devices, in the same types, each once: that
/// only devices of the set held and some device outside it, or on a node where
/// none held them, needs; and that only inner devices held and another needs.
int64_t countLeaving(const llvm::BitVector &devices,
                     const llvm::BitVector &inner, const TensorTable &table,
                     const BothHoldings &holdings, const Devices &fleet,
                     const DeviceNeeds &needs, bool ofPause = false);

/// The tolls that all bytes pay at least, in the same types, where devices are
/// those that take part, by number.
int64_t countTolls(const TollCount &tolls, llvm::ArrayRef<int64_t> participants,
                   const TensorTable &table, const BothHoldings &holdings,
                   const Devices &fleet, const DeviceNeeds &needs,
                   bool ofPause = false);

} // namespace etc

#endif // ETC_ANALYSIS_CROSSING_H
