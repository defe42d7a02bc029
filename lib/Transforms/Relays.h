//===- Relays.h - Devices that forward what they received -----------------===//
//
// Where more devices lack a fragment than hold it, the holders send it several
// times, and everyone waits for them. A device that has received it can send it
// as well: along a chain nobody sends it more than once, and since chunks
// follow each other, a chain takes hardly longer than one transfer.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_RELAYS_H
#define ETC_LIB_TRANSFORMS_RELAYS_H

#include "Sources.h"

namespace etc {

/// A fragment and who lacks it, ascending.
struct Demand {
  const Fragment *fragment;
  llvm::ArrayRef<int64_t> destinations;
};

/// The sources of a demand, parallel to its destinations.
using Transfers = llvm::SmallVector<Source>;

/// The sources of all demands, in their order: previous holders only, or, where
/// this takes a quarter or more off the bytes between nodes or off the busiest
/// port, relays too.
llvm::SmallVector<Transfers> chooseSources(llvm::ArrayRef<Demand> demands,
                                           const Devices &devices,
                                           const Holdings &prev);

/// The same, of previous holders only.
llvm::SmallVector<Transfers> chooseHolders(llvm::ArrayRef<Demand> demands,
                                           const Devices &devices,
                                           const Holdings &prev);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_RELAYS_H
