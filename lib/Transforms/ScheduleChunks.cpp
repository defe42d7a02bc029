//===- ScheduleChunks.cpp - Transfers into rounds -------------------------===//
//
// Poses the problem of rounds, and writes its solution down.
//
//===----------------------------------------------------------------------===//

#include "CutFlows.h"
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

namespace {
/// What rounds cost, where time decides.
class RoundTimes {
public:
  RoundTimes(ResourcesAttr resources, const ProgramFlows &flows,
             ArrayRef<rounds::ClassTotals> totals);

  /// Into how many portions flows are divided; 1 where nothing is sent on.
  int64_t getPortions() const { return portions; }
  /// Whether the first schedule takes no longer, at the rates of NICs.
  bool isFaster(const rounds::Found &one, const rounds::Found &other) const {
    return secondsOf(one) <= secondsOf(other);
  }

private:
  double secondsOf(const rounds::Found &found) const {
    return double(rounds::sumBusiest(found.problem, found.solution)) / rate +
           1e-9 * double(found.solution.rounds) * double(beginning);
  }

  int64_t portions, rate, beginning;
};
} // namespace

RoundTimes::RoundTimes(ResourcesAttr resources, const ProgramFlows &flows,
                       ArrayRef<rounds::ClassTotals> totals)
    : rate(resources.getNicRate()),
      // Messages, their acknowledgements, and some 10 us of the device's own.
      beginning(2 * resources.getNicLatency() + 10'000) {
  int64_t hops = 0, bytes = 0;
  for (unsigned item = 0; item < flows.getItemCount(); ++item)
    for (const ItemFlow &flow : flows.getFlows(item))
      for (unsigned type = 0; type < flows.getTable().getTypeCount(); ++type)
        hops = std::max<int64_t>(hops, flow.getLastHop(type));
  for (const rounds::ClassTotals &it : totals)
    bytes = std::max({bytes, it.sent, it.received});
  portions = rounds::countPortions(bytes, rate, beginning, hops);
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
    const RoundTimes times(migration.getResourcesAttr(), flows, totals);
    if (times.getPortions() > 1)
      if (rounds::Found finer =
              rounds::findWithin(budget, totals, pose, times.getPortions());
          finer.isWithin >= found.isWithin && times.isFaster(finer, found))
        found = std::move(finer);
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
