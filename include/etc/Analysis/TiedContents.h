//===- TiedContents.h - What is lacking of tied tensors ---------*- C++ -*-===//

#ifndef ETC_ANALYSIS_TIEDCONTENTS_H
#define ETC_ANALYSIS_TIEDCONTENTS_H

#include "etc/Analysis/Needs.h"
#include "etc/Optimize/Sources/TiedContents.h"

namespace etc {

/// Of the types, those that move. No tensors where none has a twin.
TiedContents listTiedContents(const TensorTable &table,
                              const BothHoldings &holdings,
                              const Devices &devices, const DeviceNeeds &needs,
                              const llvm::SmallBitVector &types);

} // namespace etc

#endif // ETC_ANALYSIS_TIEDCONTENTS_H
