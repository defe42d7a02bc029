//===- Crossing.h - Bytes that cross the border of some devices -----------===//

#ifndef ETC_ANALYSIS_CROSSING_H
#define ETC_ANALYSIS_CROSSING_H

#include "etc/Analysis/Needs.h"

#include "llvm/ADT/BitVector.h"

namespace etc {

/// The bytes that some of the devices need and none of `holders` held, in the
/// types that move, or in those that do in the pause: each once, a tied copy
/// and its twin together.
int64_t countEntering(const llvm::BitVector &devices,
                      const llvm::BitVector &holders, const TensorTable &table,
                      const BothHoldings &holdings, const Devices &fleet,
                      const DeviceNeeds &needs, bool ofPause = false);

} // namespace etc

#endif // ETC_ANALYSIS_CROSSING_H
