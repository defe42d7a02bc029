//===- ScheduleChunks.cpp - Transfers into rounds -------------------------===//
//
// Poses the problem of rounds, and writes its solution down.
//
//===----------------------------------------------------------------------===//

#include "RoundTimes.h"
#include "ScheduleWriter.h"
#include "dialect/Reserve.h"
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

/// As a request writes it, with what is reserved.
static std::string describe(MigrationOp migration, rounds::Budget budget) {
  budget.amount += getReservedBytes(migration);
  return budget.str();
}

static LogicalResult refuseBudget(MigrationOp migration,
                                  const rounds::Budget &budget,
                                  const rounds::Budget &least) {
  InFlightDiagnostic error = migration.emitFieldError({"memory_budget"});
  error << "memory budget: " << describe(migration, budget);
  if (const int64_t reserved = getReservedBytes(migration))
    error << ", " << reserved << " of them reserved,";
  return error << " is infeasible; the least found is "
               << describe(migration, least);
}

namespace {
/// Poses the problem of rounds for some memory, and keeps what its units stand
/// for.
class Poser {
public:
  explicit Poser(const ProgramFlows &flows) : flows(flows) {}

  rounds::Problem operator()(std::vector<rounds::ClassMemory> memory) {
    CutFlows cut(flows, memory);
    classes = std::move(memory);
    chunks = std::move(cut.chunks);
    return std::move(cut.problem);
  }
  /// Of the units of the problem that was posed here for some memory.
  ArrayRef<Chunk> chunksOf(const std::vector<rounds::ClassMemory> &memory) {
    if (memory != classes)
      (*this)(memory);
    return chunks;
  }

private:
  const ProgramFlows &flows;
  /// Of the problem that was posed last.
  std::vector<rounds::ClassMemory> classes;
  std::vector<Chunk> chunks;
};
} // namespace

/// Into how many portions flows are divided on trial. What the memory budget
/// allows decides only which of these differ, so that a larger budget has the
/// rounds of a smaller one to choose from.
static SmallVector<int64_t> portionsToTry(int64_t pipelined) {
  SmallVector<int64_t> list = {32, 64, 96, 128, 192, 256, 384};
  if (pipelined > 1)
    list.insert(list.begin(), pipelined);
  return list;
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

/// Rounds that add no more than this to the time of the busiest link or NIC are
/// not improved upon.
static constexpr double goodEnough = 1.02;
/// Where less than both is left to gain beyond that, a factor and seconds, two
/// trials in vain end the search, which would take longer than it could gain.
static constexpr double nearEnough = 1.04, fewSeconds = 0.005;

/// Replaces a schedule that is within the budget by one of smaller rounds if
/// that takes at least a hundredth less time. Returns whether it does.
static bool shorten(rounds::Found &found, const rounds::Budget &budget,
                    ArrayRef<rounds::ClassTotals> totals, Poser &poser,
                    const RoundTimes &times) {
  const rounds::Pose pose = std::ref(poser);
  auto secondsOf = [&](const rounds::Found &it) {
    return times.secondsOf(it.solution, poser.chunksOf(it.memory));
  };
  const double before = secondsOf(found),
               enough = goodEnough * times.getPortSeconds();
  double least = before * 0.99;
  bool isShorter = false;
  int inVain = 0;
  for (int64_t portions : portionsToTry(times.countPortions(totals))) {
    const double now = isShorter ? least : before;
    const bool isNear =
        now <= std::min(nearEnough * enough, enough + fewSeconds);
    if (now <= enough || (inVain >= 2 && isNear))
      break;
    rounds::Found finer = rounds::findWithin(budget, totals, pose, portions);
    const double seconds = secondsOf(finer);
    ++inVain;
    if (!finer.isWithin || seconds >= least)
      continue;
    least = seconds;
    found = std::move(finer);
    isShorter = true;
    inVain = 0;
  }
  return isShorter;
}

LogicalResult ScheduleChunks::runOnMigration(MigrationOp migration) {
  const auto &flows = getAnalysis<ProgramFlows>();
  const rounds::Budget budget = budgetOf(migration);
  const std::vector<rounds::ClassTotals> totals = totalsOf(flows);
  Poser poser(flows);
  rounds::Found found = rounds::findWithin(budget, totals, std::ref(poser));
  if (byTime && migration.getResources() && found.isWithin) {
    const auto programs = getAnalysis<DevicePrograms>().getPrograms();
    if (countTransfers(flows, programs) > mostTransfers) {
      migration->removeDiscardableAttr(byTimeMark);
    } else {
      const RoundTimes times(migration.getResourcesAttr(), flows, programs,
                             getAnalysis<Devices>(),
                             getAnalysis<BothHoldings>());
      if (shorten(found, budget, totals, poser, times))
        migration->setDiscardableAttr(byTimeMark, UnitAttr::get(&getContext()));
    }
  }
  const bool isGiven = migration.getBudgetBytes() || migration.getBudgetPpm();
  if (isGiven && !found.isWithin)
    return refuseBudget(migration, budget,
                        rounds::keptBy(found.solution, totals, budget));
  ScheduleWriter writer(flows);
  for (auto [chunk, round] :
       llvm::zip_equal(poser.chunksOf(found.memory), found.solution.roundOf))
    writer.add(chunk.item, chunk.portion, round);
  writer.write(migration);
  rounds += found.solution.rounds;
  markAnalysesPreserved<TensorTable, BothHoldings, Devices, DeviceNeeds,
                        TransferTable, DevicePrograms, ProgramFlows>();
  return success();
}
