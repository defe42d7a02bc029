//===- ScheduleChunks.cpp - Programs into rounds --------------------------===//

#include "RoundWriter.h"
#include "Schedule.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace etc {
#define GEN_PASS_DEF_SCHEDULECHUNKSPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
constexpr int64_t million = 1000000;
/// Without a budget: 1.05 x max(prev, curr).
constexpr int64_t defaultBudgetPpm = 1050000;
/// Budgets that are tried where the one asked for is missed, in ppm.
constexpr int64_t budgetLadder[] = {
    1010000, 1025000, 1050000, 1075000, 1100000, 1150000, 1200000, 1250000,
    1300000, 1350000, 1400000, 1500000, 1750000, 2000000, 3000000};
/// A round's staging is not cut smaller than this, in bytes, nor than 1/512 of
/// the larger state: smaller rounds would cost more time than they save memory.
constexpr int64_t smallestSlab = 4096;
constexpr int64_t smallestShare = 512;
/// The least that a direction gets of the staging where both are used, in ppm:
/// a little that goes the other way would else be cut into very small pieces.
constexpr int64_t smallestWay = 125000;

/// What a unit of the schedule stands for.
struct Chunk {
  unsigned item;
  Portion portion;
};

/// A schedule and what it was made of.
struct Plan {
  SmallVector<Chunk> chunks;
  SmallVector<Unit> units;
  Schedule schedule;
  bool withinBudget = false;
};

/// What live bytes of a device must stay below: bytes, or parts per million of
/// the larger of its two states.
struct Budget {
  bool isRatio;
  int64_t amount;

  int64_t limitOf(int64_t maxState) const {
    return isRatio ? static_cast<int64_t>(static_cast<__int128>(maxState) *
                                          amount / million)
                   : amount;
  }
  std::string str() const;
};

struct ScheduleChunks : ::etc::impl::ScheduleChunksPassBase<ScheduleChunks> {
  LogicalResult runOnMigration(MigrationOp migration) override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Budget
//===----------------------------------------------------------------------===//

/// As a request writes it: "1.05x", or bytes.
std::string Budget::str() const {
  if (!isRatio)
    return std::to_string(amount) + " bytes";
  std::string decimals =
      "." + std::to_string(million + amount % million).substr(1);
  return std::to_string(amount / million) +
         StringRef(decimals).rtrim('0').rtrim('.').str() + "x";
}

static Budget budgetOf(MigrationOp migration) {
  if (auto bytes = migration.getBudgetBytes())
    return {false, static_cast<int64_t>(*bytes)};
  return {true, static_cast<int64_t>(
                    migration.getBudgetPpm().value_or(defaultBudgetPpm))};
}

/// What a direction gets of the staging, in ppm.
static int64_t shareOf(int64_t bytes, int64_t others) {
  if (others == 0)
    return million;
  const int64_t share =
      static_cast<__int128>(million) * bytes / (bytes + others);
  return std::clamp(share, smallestWay, million - smallestWay);
}

/// The memory of every class. Staging gets `eighths` / 8 of what the budget
/// leaves above the larger state, split over both directions by what the class
/// sends and receives.
static SmallVector<ClassMemory>
memories(const Budget &budget, const ProgramFlows &flows, int64_t eighths) {
  SmallVector<ClassMemory> classes;
  for (const ProgramMemory &program : flows.getMemories()) {
    int64_t maxState = std::max(program.prev, program.curr);
    int64_t limit = budget.limitOf(maxState);
    int64_t staging = (limit - maxState) * eighths / 8;
    auto slabOf = [&](int64_t bytes, int64_t others) {
      if (bytes == 0)
        return int64_t(0);
      const int64_t slab =
          static_cast<__int128>(staging) * shareOf(bytes, others) / million;
      return std::max({smallestSlab, maxState / smallestShare, slab});
    };
    classes.push_back({program.prev, program.curr, limit,
                       slabOf(program.sent, program.received),
                       slabOf(program.received, program.sent)});
  }
  return classes;
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// How often a type of an item is sent on, at most.
static unsigned lastHopOf(ArrayRef<ItemFlow> flows, unsigned type) {
  unsigned last = 0;
  for (const ItemFlow &flow : flows)
    last = std::max(last, flow.getLastHop(type));
  return last;
}

/// Into how many chunks a tensor is cut, so that no class sends or receives
/// more than half its slab in one: rounds then fill well.
static int64_t chunksOf(ArrayRef<ItemFlow> flows, const Portion &whole,
                        int64_t typeBytes, ArrayRef<ClassMemory> classes) {
  int64_t chunks = 1;
  for (const ItemFlow &flow : flows) {
    const ClassMemory &memory = classes[flow.program];
    if (int64_t bytes = flow.getSent(whole) * typeBytes)
      chunks = std::max<int64_t>(chunks,
                                 llvm::divideCeil(2 * bytes, memory.sendSlab));
    if (int64_t bytes = flow.getReceived(whole) * typeBytes)
      chunks = std::max<int64_t>(chunks,
                                 llvm::divideCeil(2 * bytes, memory.recvSlab));
  }
  return chunks;
}

static Unit &addUnit(Plan &plan, const ProgramFlows &flows, unsigned item,
                     const Portion &portion) {
  int64_t size = flows.getTable().getTypeBytes(portion.type);
  plan.chunks.push_back({item, portion});
  Unit &unit = plan.units.emplace_back();
  for (const ItemFlow &flow : flows.getFlows(item))
    unit.touches.push_back({flow.program, flow.getAllocated(portion) * size,
                            flow.getReleased(portion) * size,
                            flow.getSent(portion) * size,
                            flow.getReceived(portion) * size});
  return unit;
}

/// What is derived comes in a later round than the last unit of its source.
static void addDerives(Plan &plan, const ProgramFlows &flows, unsigned item,
                       ArrayRef<int> last) {
  for (unsigned type = 0; type < last.size(); ++type) {
    if (llvm::none_of(flows.getFlows(item),
                      [&](const ItemFlow &flow) { return flow.derives(type); }))
      continue;
    Unit &unit =
        addUnit(plan, flows, item, {type, 0, 1, /*hop=*/0, /*derives=*/true});
    unit.before = last[type];
    unit.after = last[*flows.getTable().getDerivationSource(
        flows.getTensor(item), type)];
  }
}

/// The units of what moves of one item in one type, chunk by chunk; a chunk is
/// sent on in a later round than it arrives.
static void addMoves(Plan &plan, const ProgramFlows &flows, unsigned item,
                     unsigned type, ArrayRef<ClassMemory> classes) {
  const unsigned lastHop = lastHopOf(flows.getFlows(item), type);
  const int64_t typeBytes = flows.getTable().getTypeBytes(type);
  int64_t chunks = 1;
  for (unsigned hop = 0; hop <= lastHop; ++hop)
    chunks = std::max(chunks, chunksOf(flows.getFlows(item),
                                       {type, 0, 1, hop, /*derives=*/false},
                                       typeBytes, classes));
  for (unsigned hop = 0; hop <= lastHop; ++hop)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const int number = plan.units.size();
      Unit &unit = addUnit(plan, flows, item,
                           {type, chunk, chunks, hop, /*derives=*/false});
      if (chunk > 0)
        unit.before = number - 1;
      if (hop > 0)
        unit.after = number - chunks;
    }
}

/// The units of one item: for every type the chunks that move, then what is
/// derived. What a derived type keeps is of the first kind and waits for
/// nothing, so that its memory comes free early.
static void addItem(Plan &plan, const ProgramFlows &flows, unsigned item,
                    ArrayRef<ClassMemory> classes) {
  const TensorTable &table = flows.getTable();
  SmallVector<int> last(table.getTypeCount(), -1); // unit of each type
  for (unsigned type : table.getTypes(flows.getTensor(item)).set_bits()) {
    addMoves(plan, flows, item, type, classes);
    last[type] = plan.units.size() - 1;
  }
  addDerives(plan, flows, item, last);
}

static Plan plan(const ProgramFlows &flows, ArrayRef<ClassMemory> classes) {
  Plan plan;
  // Most items move whole.
  const size_t least = flows.getItemCount() * flows.getTable().getTypeCount();
  plan.chunks.reserve(least);
  plan.units.reserve(least);
  for (unsigned item = 0; item < flows.getItemCount(); ++item)
    addItem(plan, flows, item, classes);
  plan.schedule = scheduleUnits(plan.units, classes);
  return plan;
}

//===----------------------------------------------------------------------===//
// The best of several stagings
//===----------------------------------------------------------------------===//

/// The worst peak / max(prev, curr) over all classes, in ppm rounded up.
static int64_t worstRatio(const Schedule &schedule,
                          ArrayRef<ClassMemory> classes) {
  int64_t worst = million;
  for (auto [peak, memory] : llvm::zip_equal(schedule.peak, classes))
    if (int64_t state = std::max(memory.prev, memory.curr))
      worst = std::max(
          worst,
          static_cast<int64_t>(
              (static_cast<__int128>(peak) * million + state - 1) / state));
  return worst;
}

static bool isWithin(const Schedule &schedule, ArrayRef<ClassMemory> classes) {
  return llvm::all_of(llvm::zip_equal(schedule.peak, classes), [](auto pair) {
    return std::get<0>(pair) <= std::get<1>(pair).limit;
  });
}

/// The eighths of the slack to try for staging. A device that both takes and
/// gives memory needs some of the slack itself, so all of it is the last
/// resort.
static SmallVector<int64_t> stagingEighths(const ProgramFlows &flows) {
  SmallVector<std::pair<bool, bool>> uses(flows.getPrograms().size());
  for (unsigned item = 0; item < flows.getItemCount(); ++item)
    for (const ItemFlow &flow : flows.getFlows(item)) {
      uses[flow.program].first |= flow.allocated > 0;
      uses[flow.program].second |= flow.released > 0;
    }
  bool turnsOver =
      llvm::any_of(uses, [](auto use) { return use.first && use.second; });
  return turnsOver ? SmallVector<int64_t>{7, 6, 4, 2, 8}
                   : SmallVector<int64_t>{8, 6, 4, 2};
}

/// The widest staging that keeps the budget throughout. Where none does: the
/// fewest rounds of those whose peak is within the budget all the same, or else
/// the least peak.
static Plan choosePlan(const Budget &budget, const ProgramFlows &flows) {
  std::optional<Plan> best;
  std::pair<int64_t, int> bestScore;
  for (int64_t eighths : stagingEighths(flows)) {
    SmallVector<ClassMemory> classes = memories(budget, flows, eighths);
    Plan candidate = plan(flows, classes);
    candidate.withinBudget = isWithin(candidate.schedule, classes);
    if (candidate.withinBudget && candidate.schedule.forced == 0)
      return candidate;
    std::pair score(
        candidate.withinBudget ? 0 : worstRatio(candidate.schedule, classes),
        candidate.schedule.rounds);
    if (!best || score < bestScore) {
      best = std::move(candidate);
      bestScore = score;
    }
  }
  return std::move(*best);
}

/// The least budget that a schedule keeps: ratios rounded up to the next
/// thousandth.
static Budget keptBy(const Schedule &schedule, const Budget &budget,
                     const ProgramFlows &flows) {
  if (!budget.isRatio)
    return {false, *llvm::max_element(schedule.peak)};
  int64_t ratio = worstRatio(schedule, memories(budget, flows, 8));
  return {true, static_cast<int64_t>(llvm::divideCeil(ratio, 1000)) * 1000};
}

/// A plan whose peaks are within `budget`, of few rounds, or, where none is
/// found, the one with the least peak. A plan that was made for another budget
/// is as good: what is tried besides does not depend on the budget, so what
/// fits a tight one also fits a loose one, and a budget that a message names is
/// met when it is asked for.
static Plan planWithin(const Budget &budget, const ProgramFlows &flows) {
  Plan direct = choosePlan(budget, flows);
  if (direct.withinBudget)
    return direct;
  std::optional<Plan> best;
  SmallVector<ClassMemory> limits = memories(budget, flows, 8);
  auto scoreOf = [&](const Plan &plan) {
    return plan.withinBudget ? std::pair<int64_t, int>(0, plan.schedule.rounds)
                             : std::pair(worstRatio(plan.schedule, limits), 0);
  };
  for (int64_t ppm : budgetLadder) {
    Plan step = choosePlan({true, ppm}, flows);
    bool isEnough = step.withinBudget;
    step.withinBudget = isWithin(step.schedule, limits);
    isEnough &= !step.withinBudget;
    if (!best || scoreOf(step) < scoreOf(*best))
      best = std::move(step);
    if (isEnough)
      break; // a looser budget only takes more
  }
  return std::move(*best);
}

LogicalResult ScheduleChunks::runOnMigration(MigrationOp migration) {
  ProgramFlows flows(migration);
  Budget budget = budgetOf(migration);
  Plan chosen = planWithin(budget, flows);
  bool isGiven = migration.getBudgetBytes() || migration.getBudgetPpm();
  if (isGiven && !chosen.withinBudget)
    return migration.emitFieldError({"memory_budget"})
           << "memory budget: " << budget.str()
           << " is infeasible; the least found is "
           << keptBy(chosen.schedule, budget, flows).str();
  RoundWriter writer(migration, flows, chosen.schedule.rounds);
  for (auto [chunk, round] :
       llvm::zip_equal(chosen.chunks, chosen.schedule.roundOf))
    writer.add(chunk.item, chunk.portion, round);
  writer.write();
  rounds += chosen.schedule.rounds;
  return success();
}
