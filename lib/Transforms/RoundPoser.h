//===- RoundPoser.h - The problem of rounds -------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_ROUNDPOSER_H
#define ETC_LIB_TRANSFORMS_ROUNDPOSER_H

#include "CutFlows.h"
#include "PortLoads.h"

namespace etc {

/// Poses the problem of rounds for some memory, and keeps what its units stand
/// for.
class RoundPoser {
public:
  /// Of rounds that are filled in so many parts at least.
  RoundPoser(const ProgramFlows &flows, const ItemKinds &kinds, int64_t parts)
      : cutter(flows, kinds, parts) {}
  /// And that are level on all ports.
  RoundPoser(const ProgramFlows &flows, const ItemKinds &kinds,
             llvm::ArrayRef<rounds::ClassTotals> totals, const PortLoads &loads,
             double portSeconds, int64_t parts)
      : cutter(flows, kinds, parts, &loads), totals(totals),
        portSeconds(portSeconds) {}

  int64_t getParts() const { return cutter.getParts(); }
  rounds::Problem operator()(std::vector<rounds::ClassMemory> memory) {
    CutFlows cut = cutter.cut(memory);
    if (portSeconds)
      cut.problem.roundTime = rounds::shareOfRound(
          static_cast<int64_t>(1e9 * *portSeconds), totals, memory);
    classes = std::move(memory);
    chunks = std::move(cut.chunks);
    return std::move(cut.problem);
  }
  /// Of the units of the problem that was solved for what is found.
  std::vector<Chunk> takeChunks(const rounds::Found &found) {
    if (found.memory != classes)
      (*this)(found.memory);
    classes.clear();
    return std::move(chunks);
  }

private:
  FlowCutter cutter;
  llvm::ArrayRef<rounds::ClassTotals> totals;
  std::optional<double> portSeconds; ///< in level rounds
  /// Of the problem that was posed last.
  std::vector<rounds::ClassMemory> classes;
  std::vector<Chunk> chunks;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_ROUNDPOSER_H
