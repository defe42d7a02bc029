//===- TryPlacement.cpp - What another placement would move ---------------===//

#include "etc/Transforms/TryPlacement.h"

#include "JointPlacement.h"
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
  const TensorTable table(copy);
  const Devices devices(copy);
  const BothHoldings holdings(copy, table);
  const Benefits benefits(copy, table, devices, holdings.prev, holdings.curr);
  problem = posePlacement(copy, devices, benefits);
  entering = benefits.classes.listEntering(table, holdings.prev, holdings.curr);
}

PlacementTrials::~PlacementTrials() = default;

/// The problem of a trial, whose draining devices take no role.
static void drain(placement::Problem &problem, ArrayRef<int64_t> devices) {
  for (int64_t device : devices)
    if (problem.devices[device].status == placement::Status::Usable)
      problem.devices[device].status = placement::Status::Draining;
}

std::optional<SmallVector<int64_t>> PlacementTrials::place(const Trial &trial) {
  MigrationOp migration = migrationOf(*module);
  if (auto fixed = migration.getCurrDevices())
    return SmallVector<int64_t>(*fixed);
  const std::vector<placement::Device> devices = problem.devices;
  drain(problem, trial.draining);
  problem.policy = policyOf(trial.place);
  problem.isTotalFirst = trial.totalFirst;
  const std::optional<PlacedRoles> placed = solvePlacement(
      problem,
      [&]() -> const std::optional<placement::Entering> & { return entering; },
      ratesOf(migration), {trial.shareNodes, trial.reachNics});
  problem.devices = devices;
  if (!placed)
    return std::nullopt;
  return toRanks(migration.getCurr(), placed->solution.deviceOf);
}

std::optional<TrialResult> PlacementTrials::run(const Trial &trial) {
  if (!volumes)
    return std::nullopt;
  std::optional<SmallVector<int64_t>> placement = place(trial);
  if (!placement)
    return std::nullopt;
  std::optional<Volumes> found = volumes->of(*placement);
  if (!found)
    return std::nullopt;
  return TrialResult{*found, *placement};
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
