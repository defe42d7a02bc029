//===- TimeFloor.h - What rounds take at least ----------------------------===//
//
// Tells before the problem of rounds is posed that it is not worth solving.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_TIMEFLOOR_H
#define ETC_LIB_TRANSFORMS_TIMEFLOOR_H

#include "HopChunks.h"
#include "RoundTimes.h"

namespace etc {

/// As RoundTimes has it: a device ends a round no sooner than it has begun it,
/// packed what it sends, and its link and its share of a NIC have carried what
/// it sends and receives; and it unpacks what came over the one or the other.
/// Its slabs say how many rounds it takes part in.
class TimeFloor {
public:
  TimeFloor(const RoundTimes &times,
            llvm::ArrayRef<rounds::ClassTotals> totals);

  /// No schedule costs less that is found for so many portions, if a round
  /// carries at least so many parts. More portions do not cost less.
  double findCost(int64_t portions, int64_t parts) const;

private:
  /// What all devices of a program do in rounds that are not deferred.
  struct Use {
    double packing = 0, unpacking = 0;      ///< seconds
    int64_t mostSent = 0, mostReceived = 0; ///< bytes of a unit
  };
  /// Of one kind of items.
  struct Kind {
    unsigned first = 0; ///< an item
    int64_t count = 0;
    /// By type, but those that are deferred.
    llvm::SmallVector<std::pair<unsigned, HopMost>, 4> most;
  };
  std::vector<Use> findUses(llvm::ArrayRef<rounds::ClassMemory> memory,
                            int64_t parts) const;
  void addUses(const Kind &kind, unsigned type, int64_t chunks,
               std::vector<Use> &uses) const;

  const RoundTimes &times;
  const ProgramFlows &flows;
  llvm::ArrayRef<rounds::ClassTotals> totals;
  /// Of links and NICs: those of the busiest device of a program; and those of
  /// what all that it receives comes through, if that is one of the two.
  struct Seconds {
    double most = 0, toUnpack = 0;
  };
  std::vector<Seconds> seconds; ///< [programs]
  std::vector<Kind> kinds;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_TIMEFLOOR_H
