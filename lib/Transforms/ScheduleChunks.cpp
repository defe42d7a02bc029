//===- ScheduleChunks.cpp - Programs into rounds ------------------------------===//

#include "ProgramFlows.h"
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
/// A round's staging is not cut smaller than this, in bytes.
constexpr int64_t smallestSlab = 4096;

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
};

struct ScheduleChunks : ::etc::impl::ScheduleChunksPassBase<ScheduleChunks> {
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Budget
//===----------------------------------------------------------------------===//

static int64_t limitOf(MigrationOp migration, int64_t maxState) {
  if (auto bytes = migration.getBudgetBytes())
    return *bytes;
  int64_t ppm = migration.getBudgetPpm().value_or(defaultBudgetPpm);
  return static_cast<int64_t>(static_cast<__int128>(maxState) * ppm / million);
}

/// The memory of every class. Staging gets `quarters` / 4 of what the budget leaves above the larger state, split over
/// the directions that the class uses.
static SmallVector<ClassMemory> memories(MigrationOp migration, const ProgramFlows &flows,
                                         int64_t quarters) {
  SmallVector<ClassMemory> classes;
  for (const ProgramMemory &program : flows.getMemories()) {
    int64_t maxState = std::max(program.prev, program.curr);
    int64_t limit = limitOf(migration, maxState);
    int64_t directions = std::max(1, program.sends + program.receives);
    int64_t slab = std::max(smallestSlab, (limit - maxState) * quarters / (4 * directions));
    classes.push_back({program.prev, program.curr, limit, program.sends ? slab : 0,
                       program.receives ? slab : 0});
  }
  return classes;
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// Into how many chunks a tensor is cut, so that no class sends or receives more than half its slab in one: rounds then
/// fill well.
static int64_t chunksOf(ArrayRef<ItemFlow> flows, unsigned type, int64_t typeBytes,
                        ArrayRef<ClassMemory> classes) {
  Portion whole{type, 0, 1, /*derives=*/false};
  int64_t chunks = 1;
  for (const ItemFlow &flow : flows) {
    const ClassMemory &memory = classes[flow.program];
    if (int64_t bytes = flow.getSent(whole) * typeBytes)
      chunks = std::max<int64_t>(chunks, llvm::divideCeil(2 * bytes, memory.sendSlab));
    if (int64_t bytes = flow.getReceived(whole) * typeBytes)
      chunks = std::max<int64_t>(chunks, llvm::divideCeil(2 * bytes, memory.recvSlab));
  }
  return chunks;
}

static Unit &addUnit(Plan &plan, MigrationOp migration, const ProgramFlows &flows, unsigned item,
                     const Portion &portion) {
  int64_t size = cast<StateAttr>(migration.getTypes()[portion.type]).getBytes();
  plan.chunks.push_back({item, portion});
  Unit &unit = plan.units.emplace_back();
  for (const ItemFlow &flow : flows.getFlows(item))
    unit.touches.push_back({flow.program, flow.getAllocated(portion) * size,
                            flow.getReleased(portion) * size, flow.getSent(portion) * size,
                            flow.getReceived(portion) * size});
  return unit;
}

/// What is derived comes in a later round than the last unit of its source.
static void addDerives(Plan &plan, MigrationOp migration, const ProgramFlows &flows, unsigned item,
                       ArrayRef<int> last) {
  for (unsigned type = 0; type < last.size(); ++type) {
    if (llvm::none_of(flows.getFlows(item),
                      [&](const ItemFlow &flow) { return flow.derives(type); }))
      continue;
    Unit &unit = addUnit(plan, migration, flows, item, {type, 0, 1, /*derives=*/true});
    unit.before = last[type];
    unit.after = last[*migration.getDerivationSource(type)];
  }
}

/// The units of one item: for every type the chunks that move, one after the other, then what is derived. What a
/// derived type keeps is of the first kind and waits for nothing, so that its memory comes free early.
static void addItem(Plan &plan, MigrationOp migration, const ProgramFlows &flows, unsigned item,
                    ArrayRef<ClassMemory> classes) {
  SmallVector<int> last; // unit of each type
  for (auto [index, state] : llvm::enumerate(migration.getTypes().getAsRange<StateAttr>())) {
    unsigned type = index;
    int64_t chunks = chunksOf(flows.getFlows(item), type, state.getBytes(), classes);
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      Unit &unit = addUnit(plan, migration, flows, item, {type, chunk, chunks, /*derives=*/false});
      if (chunk > 0)
        unit.before = plan.units.size() - 2;
    }
    last.push_back(plan.units.size() - 1);
  }
  addDerives(plan, migration, flows, item, last);
}

static Plan plan(MigrationOp migration, const ProgramFlows &flows, ArrayRef<ClassMemory> classes) {
  Plan plan;
  for (unsigned item = 0; item < flows.getItemCount(); ++item)
    addItem(plan, migration, flows, item, classes);
  plan.schedule = scheduleUnits(plan.units, classes);
  return plan;
}

//===----------------------------------------------------------------------===//
// The best of several stagings
//===----------------------------------------------------------------------===//

/// The worst peak / max(prev, curr) over all classes, in ppm rounded up.
static int64_t worstRatio(const Schedule &schedule, ArrayRef<ClassMemory> classes) {
  int64_t worst = million;
  for (auto [peak, memory] : llvm::zip_equal(schedule.peak, classes))
    if (int64_t state = std::max(memory.prev, memory.curr))
      worst = std::max(worst, static_cast<int64_t>(
                                  (static_cast<__int128>(peak) * million + state - 1) / state));
  return worst;
}

static bool isWithin(const Schedule &schedule, ArrayRef<ClassMemory> classes) {
  return llvm::all_of(llvm::zip_equal(schedule.peak, classes), [](auto pair) {
    return std::get<0>(pair) <= std::get<1>(pair).limit;
  });
}

/// The widest staging that keeps the budget throughout. Where none does: the fewest rounds of those whose peak is within
/// the budget all the same, or else the least peak.
static Plan choosePlan(MigrationOp migration, const ProgramFlows &flows) {
  std::optional<Plan> best;
  std::pair<int64_t, int> bestScore;
  for (int64_t quarters : {4, 3, 2, 1}) {
    SmallVector<ClassMemory> classes = memories(migration, flows, quarters);
    Plan candidate = plan(migration, flows, classes);
    bool within = isWithin(candidate.schedule, classes);
    if (within && candidate.schedule.forced == 0)
      return candidate;
    std::pair score(within ? 0 : worstRatio(candidate.schedule, classes), candidate.schedule.rounds);
    if (!best || score < bestScore) {
      best = std::move(candidate);
      bestScore = score;
    }
  }
  return std::move(*best);
}

static LogicalResult reportBudget(MigrationOp migration, const ProgramFlows &flows,
                                  const Schedule &schedule) {
  SmallVector<ClassMemory> classes = memories(migration, flows, 4);
  InFlightDiagnostic diag = migration.emitError();
  if (auto bytes = migration.getBudgetBytes()) {
    int64_t least = *llvm::max_element(schedule.peak);
    return diag << "memory budget: " << *bytes << " bytes are infeasible; the least found is "
                << least;
  }
  // Rounded up to the next thousandth, which is a budget that this schedule keeps.
  int64_t ratio = llvm::divideCeil(worstRatio(schedule, classes), 1000);
  std::string text = std::to_string(ratio / 1000) + "." +
                     std::to_string(1000 + ratio % 1000).substr(1) + "x";
  return diag << "memory budget: infeasible; the least found is " << text
              << " of max(prev, curr)";
}

void ScheduleChunks::runOnOperation() {
  MigrationOp migration = getOperation();
  ProgramFlows flows(migration);
  Plan chosen = choosePlan(migration, flows);
  bool isGiven = migration.getBudgetBytes() || migration.getBudgetPpm();
  if (isGiven && !isWithin(chosen.schedule, memories(migration, flows, 4))) {
    (void)reportBudget(migration, flows, chosen.schedule);
    return signalPassFailure();
  }
  RoundWriter writer(migration, flows, chosen.schedule.rounds);
  for (auto [chunk, round] : llvm::zip_equal(chosen.chunks, chosen.schedule.roundOf))
    writer.add(chunk.item, chunk.portion, round);
  writer.write();
  rounds += chosen.schedule.rounds;
}
