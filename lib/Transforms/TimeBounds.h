//===- TimeBounds.h - Cuts and tolls as ops ---------------------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_TIMEBOUNDS_H
#define ETC_LIB_TRANSFORMS_TIMEBOUNDS_H

#include "etc/Analysis/Crossing.h"
#include "etc/Optimize/Routing/Bound.h"

namespace etc {

/// What the bytes of bounds are counted by.
struct CountedBy {
  const TensorTable &table;
  const BothHoldings &holdings;
  const Devices &devices;
  const DeviceNeeds &needs;
};

/// Writes the cut that is slowest once its bytes are counted again, as the
/// bound of all or of the pause; nothing where nothing has to move.
void writeTimeBound(MigrationOp migration, llvm::ArrayRef<routing::Cut> cuts,
                    const CountedBy &counted, bool ofPause);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_TIMEBOUNDS_H
