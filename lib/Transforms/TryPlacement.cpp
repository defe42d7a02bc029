//===- TryPlacement.cpp - What another placement would move ---------------===//

#include "etc/Transforms/TryPlacement.h"

#include "etc/Analysis/Devices.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace etc;
using namespace mlir;

/// A migration alone in a module, with as much of its body as `keep` says.
static OwningOpRef<ModuleOp>
copyOf(MigrationOp migration, llvm::function_ref<bool(Operation *)> keep) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(migration.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto copy = cast<MigrationOp>(builder.cloneWithoutRegions(*migration));
  builder.setInsertionPointToEnd(&copy.getBody().emplaceBlock());
  for (Operation &op : migration.getBody().front())
    if (keep(&op))
      builder.clone(op);
  return module;
}

static MigrationOp migrationOf(ModuleOp module) {
  return *module.getOps<MigrationOp>().begin();
}

static LogicalResult runPasses(ModuleOp module,
                               llvm::function_ref<void(OpPassManager &)> add) {
  // A trial that fails is an answer, not an error.
  ScopedDiagnosticHandler silence(module.getContext(),
                                  [](Diagnostic &) { return success(); });
  PassManager passes(module.getContext());
  add(passes.nest<MigrationOp>());
  return passes.run(module);
}

/// What every trial starts from.
static bool isInput(Operation *op) {
  if (auto matrix = dyn_cast<CostMatrixOp>(op))
    return matrix.getUnit() == CostUnit::Bytes;
  return isa<TensorOp, WorkloadOp, OverlapOp>(op);
}

PlacementTrials::PlacementTrials(MigrationOp migration)
    : module(copyOf(migration, isInput)) {
  MigrationOp copy = migrationOf(*module);
  copy.removePolicyAttr();
  const bool hasCosts = static_cast<bool>(copy.getCosts(CostUnit::Bytes));
  copy.setStage(hasCosts ? Stage::Costs : Stage::Request);
  if (!hasCosts && failed(runPasses(*module, [](OpPassManager &passes) {
        passes.addPass(createBuildWorkloadsPass());
        passes.addPass(createBuildCostMatrixPass());
      })))
    return;
  volumes.emplace(copy);
}

PlacementTrials::~PlacementTrials() = default;

static void setUp(MigrationOp migration, const Trial &trial) {
  Builder builder(migration.getContext());
  migration.setPlaceAttr(
      trial.place == Place::Any
          ? PlaceAttr()
          : PlaceAttr::get(migration.getContext(), trial.place));
  if (trial.draining.empty())
    return;
  SmallVector<int64_t> draining(
      migration.getDraining().value_or(ArrayRef<int64_t>()));
  draining.append(trial.draining.begin(), trial.draining.end());
  llvm::sort(draining);
  draining.erase(llvm::unique(draining), draining.end());
  migration.setDrainingAttr(builder.getDenseI64ArrayAttr(draining));
}

std::optional<TrialResult> PlacementTrials::run(const Trial &trial) {
  if (!volumes)
    return std::nullopt;
  OwningOpRef<ModuleOp> copy =
      copyOf(migrationOf(*module), [](Operation *) { return true; });
  MigrationOp migration = migrationOf(*copy);
  setUp(migration, trial);
  LogicalResult placed = runPasses(*copy, [&](OpPassManager &passes) {
    SolveAssignmentPassOptions options;
    options.totalFirst = trial.totalFirst;
    passes.addPass(createSolveAssignmentPass(options));
    passes.addPass(createPlaceRolesPass());
  });
  if (failed(placed))
    return std::nullopt;
  PlacementOp placement = *migration.getOps<PlacementOp>().begin();
  std::optional<Volumes> found = volumes->of(placement.getDevices());
  if (!found)
    return std::nullopt;
  return TrialResult{*found, SmallVector<int64_t>(placement.getDevices())};
}

std::optional<Volumes> PlacementTrials::volumesOf(ArrayRef<int64_t> placement) {
  return volumes ? volumes->of(placement) : std::nullopt;
}

std::vector<std::vector<std::pair<int64_t, bool>>>
PlacementTrials::nodeSignatures() {
  Devices devices(migrationOf(*module));
  std::vector<std::vector<std::pair<int64_t, bool>>> nodes(
      devices.getNodeCount());
  for (int64_t device = 0; device < devices.size(); ++device)
    nodes[devices.getNode(device)].push_back(
        {devices.getPrevRole(device), devices.isUsable(device)});
  return nodes;
}
