//===- ScheduleChunks.cpp - Transfers into rounds -------------------------===//
//
// Poses the problem of rounds, and writes its solution down.
//
//===----------------------------------------------------------------------===//

#include "RoundTimes.h"
#include "ScheduleWriter.h"
#include "etc/Transforms/Passes.h"

namespace etc {
#define GEN_PASS_DEF_SCHEDULECHUNKSPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
struct ScheduleChunks : ::etc::impl::ScheduleChunksPassBase<ScheduleChunks> {
  using ScheduleChunksPassBase::ScheduleChunksPassBase;

  LogicalResult runOnMigration(MigrationOp migration) override;
};
} // namespace

/// Without a budget: 1.05 x max(prev, curr).
static constexpr int64_t defaultBudgetPpm = 1050000;

static rounds::Budget budgetOf(MigrationOp migration) {
  if (auto bytes = migration.getBudgetBytes())
    return {false, static_cast<int64_t>(*bytes)};
  return {true, static_cast<int64_t>(
                    migration.getBudgetPpm().value_or(defaultBudgetPpm))};
}

LogicalResult ScheduleChunks::runOnMigration(MigrationOp migration) {
  const auto &flows = getAnalysis<ProgramFlows>();
  const rounds::Budget budget = budgetOf(migration);
  const std::vector<rounds::ClassTotals> totals = totalsOf(flows);
  // Of the problem that was posed last.
  std::vector<rounds::ClassMemory> classes;
  std::vector<Chunk> chunks;
  auto pose = [&](std::vector<rounds::ClassMemory> memory) {
    CutFlows cut(flows, memory);
    classes = std::move(memory);
    chunks = std::move(cut.chunks);
    return std::move(cut.problem);
  };
  rounds::Found found = rounds::findWithin(budget, totals, pose);
  if (byTime && migration.getResources()) {
    const RoundTimes times(migration.getResourcesAttr(), flows,
                           getAnalysis<DevicePrograms>().getPrograms(),
                           getAnalysis<Devices>());
    auto secondsOf = [&](const rounds::Found &it) {
      if (it.problem.classes != classes)
        pose(it.problem.classes);
      return times.secondsOf(it.solution, chunks);
    };
    if (const int64_t portions = times.countPortions(totals); portions > 1)
      if (rounds::Found finer =
              rounds::findWithin(budget, totals, pose, portions);
          finer.isWithin >= found.isWithin &&
          100 * secondsOf(finer) <= 99 * secondsOf(found)) {
        found = std::move(finer);
        migration->setDiscardableAttr(byTimeMark, UnitAttr::get(&getContext()));
      }
  }
  const bool isGiven = migration.getBudgetBytes() || migration.getBudgetPpm();
  if (isGiven && !found.isWithin)
    return migration.emitFieldError({"memory_budget"})
           << "memory budget: " << budget.str()
           << " is infeasible; the least found is "
           << rounds::keptBy(found.solution, totals, budget).str();
  if (found.problem.classes != classes)
    pose(found.problem.classes);
  ScheduleWriter writer(flows);
  for (auto [chunk, round] : llvm::zip_equal(chunks, found.solution.roundOf))
    writer.add(chunk.item, chunk.portion, round);
  writer.write(migration);
  rounds += found.solution.rounds;
  markAnalysesPreserved<TensorTable, BothHoldings, Devices, DeviceNeeds,
                        TransferTable, DevicePrograms, ProgramFlows>();
  return success();
}
