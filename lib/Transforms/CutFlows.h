//===- CutFlows.h - What programs move, cut into chunks -------------------===//
//
// Poses the problem of rounds: what programs do to each item becomes units that
// take and give memory.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_CUTFLOWS_H
#define ETC_LIB_TRANSFORMS_CUTFLOWS_H

#include "ChunksAlike.h"
#include "etc/Optimize/Rounds/Budget.h"

namespace etc {

/// Into how many chunks an item is cut in one type: so many that each is at
/// most one of `parts` of what a round of each class carries.
int64_t countChunks(const ProgramFlows &flows,
                    llvm::ArrayRef<rounds::ClassMemory> classes, int64_t parts,
                    unsigned item, unsigned type);

/// How often a type of an item is sent on, at most.
unsigned findLastHop(llvm::ArrayRef<ItemFlow> flows, unsigned type);

/// The problem of rounds for some memory of the programs. The fewer bytes a
/// round may carry, the more chunks an item is cut into.
struct CutFlows {
  CutFlows(const ProgramFlows &flows, const ItemKinds &kinds,
           std::vector<rounds::ClassMemory> classes, int64_t parts);

  rounds::Problem problem;
  std::vector<Chunk> chunks; ///< [units]
};

/// What each program does to memory in all.
std::vector<rounds::ClassTotals> totalsOf(const ProgramFlows &flows);
/// With what it transfers in rounds that are not deferred.
std::vector<rounds::ClassTotals>
urgentOf(std::vector<rounds::ClassTotals> totals, const ProgramFlows &flows);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_CUTFLOWS_H
