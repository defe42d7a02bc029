//===- Schedule.h - Units into rounds under a memory bound ----------------===//
//
// Knows neither IR nor tensors: units take and give memory on classes of
// devices.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_SCHEDULE_H
#define ETC_LIB_TRANSFORMS_SCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace etc {

/// What a unit does to the memory of every device of one class, in bytes.
struct Touch {
  unsigned deviceClass;
  int64_t allocated; ///< taken before the round's transfers
  int64_t released;  ///< given back after them
  int64_t sent, received;
};

/// What moves in one round. A tensor that is cut is a chain of units.
struct Unit {
  llvm::SmallVector<Touch> touches;
  /// The unit of the same tensor that must not come later, or -1.
  int before = -1;
  /// The unit that must be in an earlier round, or -1: this one reads what it
  /// leaves.
  int after = -1;
};

/// The memory of a class of devices, in bytes.
struct ClassMemory {
  int64_t prev, curr;
  /// Live bytes, staging included, should stay below.
  int64_t limit;
  /// The most that a round may send, and receive.
  int64_t sendSlab, recvSlab;
};

struct Schedule {
  llvm::SmallVector<int> roundOf; ///< [units]
  int rounds = 0;
  int forced = 0; ///< rounds in which nothing fitted
  llvm::SmallVector<int64_t> sendSlab,
      recvSlab;                    ///< [classes] of the busiest round
  llvm::SmallVector<int64_t> peak; ///< [classes] live bytes, slabs included
};

/// List scheduling. Units of one flow (those that touch the same classes in the
/// same way) are spread evenly, so that all flows progress in proportion and
/// memory comes free as fast as it is taken; each round takes what fits, each
/// flow in its own order, so that layers stay together. Where nothing fits, the
/// unit that exceeds a limit the least goes alone: the peak then says by how
/// much.
Schedule scheduleUnits(llvm::ArrayRef<Unit> units,
                       llvm::ArrayRef<ClassMemory> classes);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_SCHEDULE_H
