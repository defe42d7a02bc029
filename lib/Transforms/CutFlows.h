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

class PortLoads;

/// A problem of rounds, and what its units stand for.
struct CutFlows {
  rounds::Problem problem;
  std::vector<Chunk> chunks; ///< [units]
};

/// Poses the problem of rounds for some memory of the programs, and again for
/// other memory. The fewer bytes a round may carry, the more chunks an item is
/// cut into.
class FlowCutter {
public:
  /// With chunks of at most one of `parts` of what a round carries. Units
  /// occupy ports if there are `loads`.
  FlowCutter(const ProgramFlows &flows, const ItemKinds &kinds, int64_t parts,
             const PortLoads *loads = nullptr);
  ~FlowCutter();

  int64_t getParts() const { return parts; }
  CutFlows cut(std::vector<rounds::ClassMemory> classes);

private:
  struct TypeCuts;
  class Cutter;

  const ProgramFlows &flows;
  const ItemKinds &kinds;
  const int64_t parts;
  const PortLoads *loads;
  /// Of the first item of each kind, by type.
  std::vector<std::vector<TypeCuts>> cuts;
};

/// What each program does to memory in all.
std::vector<rounds::ClassTotals> totalsOf(const ProgramFlows &flows);
/// With what it transfers in rounds that are not deferred.
std::vector<rounds::ClassTotals>
urgentOf(std::vector<rounds::ClassTotals> totals, const ProgramFlows &flows);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_CUTFLOWS_H
