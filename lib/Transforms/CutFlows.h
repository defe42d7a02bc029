//===- CutFlows.h - What programs move, cut into chunks -------------------===//
//
// Poses the problem of rounds: what programs do to each item becomes units that
// take and give memory.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_CUTFLOWS_H
#define ETC_LIB_TRANSFORMS_CUTFLOWS_H

#include "etc/Analysis/ProgramFlows.h"
#include "etc/Optimize/Rounds/Budget.h"

namespace etc {

/// What a unit of the problem stands for.
struct Chunk {
  unsigned item;
  Portion portion;
};

/// The problem of rounds for some memory of the programs. The fewer bytes a
/// round may carry, the more chunks an item is cut into: so many that each is
/// at most one of `parts` of what a round carries.
struct CutFlows {
  CutFlows(const ProgramFlows &flows, std::vector<rounds::ClassMemory> classes,
           int64_t parts);

  rounds::Problem problem;
  std::vector<Chunk> chunks; ///< [units]
};

/// What each program does to memory in all.
std::vector<rounds::ClassTotals> totalsOf(const ProgramFlows &flows);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_CUTFLOWS_H
