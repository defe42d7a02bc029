//===- ScheduleChunks.cpp - Transfers into rounds -------------------------===//
//
// Poses the problem of rounds, and writes its solution down.
//
//===----------------------------------------------------------------------===//

#include "EarliestPause.h"
#include "RefuseBudget.h"
#include "ScheduleWriter.h"
#include "Schedules.h"
#include "etc/Optimize/PlanningTime.h"
#include "etc/Transforms/Passes.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace etc {
#define GEN_PASS_DEF_SCHEDULECHUNKSPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

/// Above so many transfers trials take long.
static constexpr int64_t manyTransfers = 50'000;

namespace {
struct ScheduleChunks : ::etc::impl::ScheduleChunksPassBase<ScheduleChunks> {
  using ScheduleChunksPassBase::ScheduleChunksPassBase;

  LogicalResult runOnMigration(MigrationOp migration) override;

private:
  /// An error if the pause is surely no shorter than what is wanted.
  LogicalResult checkTime(MigrationOp migration, double seconds);
  LogicalResult checkPorts(MigrationOp migration);
  LogicalResult checkPeak(MigrationOp migration, const rounds::Budget &least);
  LogicalResult checkRounds(MigrationOp migration, const Schedule &schedule);
  rounds::Budget budgetOf(MigrationOp migration) const;
  int64_t getMostPpm() const { return std::llround(1e6 * mostPeak); }
  RoundTimes getTimes(MigrationOp migration);
  Effort getEffort(int64_t transfers) const {
    if (transfers > mostTransfers)
      return Effort::Least;
    return transfers > manyTransfers ? Effort::Less : Effort::Full;
  }
};
} // namespace

/// Without a budget: 1.05 x max(prev, curr) or, where no rounds that are found
/// keep this, some parts in a million above the least, whose rounds may be
/// many.
static constexpr int64_t defaultBudgetPpm = 1050000, aboveLeastPpm = 20000;

rounds::Budget ScheduleChunks::budgetOf(MigrationOp migration) const {
  if (auto bytes = migration.getBudgetBytes())
    return {false, static_cast<int64_t>(*bytes)};
  const int64_t otherwise = mostPeak > 0 ? getMostPpm() : defaultBudgetPpm;
  return {true, int64_t(migration.getBudgetPpm().value_or(otherwise))};
}

/// Sends and receives of all devices, tensor by tensor.
static int64_t countTransfers(const ProgramFlows &flows,
                              ArrayRef<DeviceProgram> programs) {
  int64_t count = 0;
  for (unsigned item = 0; item < flows.getItemCount(); ++item)
    for (const ItemFlow &flow : flows.getFlows(item))
      count += llvm::count_if(flow.steps,
                              [](const Step &it) { return it.isTransfer(); }) *
               programs[flow.program].devices.front().size();
  return count;
}

/// The share of a bound that a simulation may be below, for how it rounds.
static constexpr double tolerance = 1e-4;

/// A plan by bytes of the same transfers has the rounds that were shortened. In
/// random requests, what this gains in the simulator has been within a tenth of
/// the estimate where a pause is nearly as long as its busiest port is busy;
/// not where latencies and packing take most of it.
static constexpr double clearlyLonger = 1.1, nearly = 1.5;

/// Whether rounds that were shortened could be found to take longer.
static bool isDoubtful(const RoundTimes::Seconds &before,
                       const RoundTimes::Seconds &now, double portSeconds) {
  return now.getCost() < before.getCost() &&
         (before.pause < clearlyLonger * now.pause ||
          now.pause > nearly * portSeconds);
}

RoundTimes ScheduleChunks::getTimes(MigrationOp migration) {
  return {migration.getResourcesAttr(), getAnalysis<ProgramFlows>(),
          getAnalysis<DevicePrograms>().getPrograms(), getAnalysis<Devices>(),
          getAnalysis<BothHoldings>()};
}

LogicalResult ScheduleChunks::checkTime(MigrationOp migration, double seconds) {
  if ((1 - tolerance) * seconds < fasterThan)
    return success();
  return emitError(migration.getLoc(), "takes at least ")
         << llvm::formatv("{0:f9}", seconds) << " s, expected less than "
         << llvm::formatv("{0:f9}", fasterThan.getValue()) << " s";
}

/// Whatever the rounds are, and so before they are looked for.
LogicalResult ScheduleChunks::checkPorts(MigrationOp migration) {
  if (fasterThan == 0 || !migration.getResources())
    return success();
  return checkTime(migration, getTimes(migration).getPortSeconds());
}

LogicalResult ScheduleChunks::checkPeak(MigrationOp migration,
                                        const rounds::Budget &least) {
  if (byTime)
    migration->setDiscardableAttr(
        leastPeakMark, Builder(&getContext()).getI64IntegerAttr(least.amount));
  if (mostPeak == 0)
    return success();
  return emitError(migration.getLoc(), "has a peak of at least ")
         << least.str() << " of the larger state, expected at most "
         << rounds::Budget{true, getMostPpm()}.str();
}

LogicalResult ScheduleChunks::checkRounds(MigrationOp migration,
                                          const Schedule &schedule) {
  if (fasterThan == 0 || !migration.getResources())
    return success();
  const RoundTimes times = getTimes(migration);
  return checkTime(migration,
                   findEarliestPause(times.getRates(), schedule.found.solution,
                                     schedule.chunks));
}

LogicalResult ScheduleChunks::runOnMigration(MigrationOp migration) {
  if (failed(checkPorts(migration)))
    return failure();
  const auto &flows = getAnalysis<ProgramFlows>();
  rounds::Budget budget = budgetOf(migration);
  ScheduleSearch search(flows);
  const ArrayRef<rounds::ClassTotals> totals = search.getTotals();
  Schedule schedule = search.find(budget);
  const rounds::Found &found = schedule.found;
  const bool isGiven = migration.getBudgetBytes() || migration.getBudgetPpm();
  if (!isGiven && !found.isWithin) {
    budget = rounds::keptBy(found.solution, totals, budget);
    if (failed(checkPeak(migration, budget)))
      return failure();
    budget.amount += budget.amount * aboveLeastPpm / 1'000'000;
    schedule = search.find(budget);
  }
  if (failed(checkRounds(migration, schedule)))
    return failure();
  if (byTime && migration.getResources() && found.isWithin) {
    const auto programs = getAnalysis<DevicePrograms>().getPrograms();
    const int64_t transfers = countTransfers(flows, programs);
    const double gain =
        gainWorthPlanning(transfers, programs.size(), leastGain);
    const Effort effort = getEffort(transfers);
    const RoundTimes times = getTimes(migration);
    const RoundTimes::Seconds before = search.shorten(
        schedule, budget, times,
        {migration.getResourcesAttr(), flows, programs, getAnalysis<Devices>()},
        effort, gain);
    if (isLeftOut(before, times, gain))
      migration->setDiscardableAttr(quickMark, UnitAttr::get(&getContext()));
    if (effort == Effort::Least)
      migration->removeDiscardableAttr(byTimeMark);
    else if (isDoubtful(before, schedule.seconds, times.getPortSeconds()))
      migration->setDiscardableAttr(byTimeMark, UnitAttr::get(&getContext()));
  }
  if (isGiven && !found.isWithin)
    return refuseBudget(migration, budget,
                        rounds::keptBy(found.solution, totals, budget));
  ScheduleWriter writer(flows);
  for (auto [chunk, round] :
       llvm::zip_equal(schedule.chunks, found.solution.roundOf))
    writer.add(chunk.item, chunk.portion, round);
  writer.write(migration);
  rounds += found.solution.rounds;
  markAnalysesPreserved<TensorTable, BothHoldings, Devices, DeviceNeeds,
                        TransferTable, DevicePrograms, ProgramFlows>();
  return success();
}
