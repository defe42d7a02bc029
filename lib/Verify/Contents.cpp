//===- Contents.cpp - Whether what passes add is there --------------------===//
//
// Cheap checks: what is missing, and what is there twice. That a plan is right
// is for etc-verify-plan to prove.
//
//===----------------------------------------------------------------------===//

#include "Contents.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace etc;
using namespace mlir;

/// "has no etc.placement; run etc-defragment first".
static LogicalResult missing(MigrationOp migration, Content content,
                             const llvm::Twine &what) {
  InFlightDiagnostic diag = migration.emitError() << "has no " << what;
  if (StringRef pass = passThatAdds(content); !pass.empty())
    diag << "; run " << pass << " first";
  return diag;
}

static LogicalResult doubled(Operation *second, Operation *first,
                             Content content, const llvm::Twine &what) {
  InFlightDiagnostic diag = second->emitError()
                            << "is the second " << what << "; "
                            << passThatAdds(content) << " may run once";
  diag.attachNote(first->getLoc()) << "the first is here";
  return diag;
}

/// One op of some kind, if it is the only one that `isOne` says it of.
template <typename OpT, typename IsOne>
static LogicalResult checkOne(MigrationOp migration, Content content,
                              const llvm::Twine &what, IsOne isOne) {
  OpT first;
  for (OpT op : migration.getOps<OpT>()) {
    if (!isOne(op))
      continue;
    if (first)
      return doubled(op, first, content, what);
    first = op;
  }
  return first ? success() : missing(migration, content, what);
}

//===----------------------------------------------------------------------===//
// Request and workloads
//===----------------------------------------------------------------------===//

static LogicalResult checkTensors(MigrationOp migration) {
  return migration.getOnly<TensorOp>()
             ? success()
             : missing(migration, Content::Tensors, "etc.tensor");
}

/// Whether a stage has a layer that every pool holds a part of some tensor of.
/// A flat span of the distributed optimizer may be padding alone.
static bool hasTensors(MigrationOp migration, Side side, int64_t stage) {
  bool isCutFlat = migration.getParallel(side).getZero1();
  for (auto [begin, end] : migration.getLayersOf(side, stage))
    for (TensorOp tensor : migration.getOps<TensorOp>()) {
      if (tensor.getPart() != Part::Layer || (isCutFlat && tensor.getFlat()))
        continue;
      auto range = tensor.getOfLayers();
      if (!range || std::max((*range)[0], begin) < std::min((*range)[1], end))
        return true;
    }
  return false;
}

/// Every pool whose stage has layers holds something, and at least one does.
static LogicalResult checkPools(MigrationOp migration, Side side,
                                const llvm::BitVector &held) {
  ParallelAttr parallel = migration.getParallel(side);
  if (parallel.getInventory())
    return held.any() ? success()
                      : migration.emitFieldError({stringifySide(side)})
                            << "the inventory holds nothing";
  for (int64_t stage = 0; stage < parallel.getPp(); ++stage) {
    if (!hasTensors(migration, side, stage))
      continue;
    for (int64_t slot = 0; slot < parallel.getSlots(); ++slot) {
      int64_t pool = stage * parallel.getSlots() + slot;
      if (!held.test(pool))
        return missing(migration, Content::Workloads,
                       "etc.workload of " + stringifySide(side) + " " +
                           parallel.getPool(pool).str());
    }
  }
  return held.any() ? success()
                    : missing(migration, Content::Workloads,
                              "etc.workload of " + stringifySide(side));
}

static LogicalResult checkWorkloads(MigrationOp migration) {
  llvm::DenseMap<std::pair<Attribute, Attribute>, WorkloadOp> seen[2];
  llvm::BitVector held[2] = {llvm::BitVector(migration.getPrev().getPools()),
                             llvm::BitVector(migration.getCurr().getPools())};
  for (WorkloadOp op : migration.getOps<WorkloadOp>()) {
    Side side = op.getSide();
    unsigned index = static_cast<unsigned>(side);
    auto [first, isNew] =
        seen[index].try_emplace({op.getRole(), op.getWtAttr()}, op);
    if (!isNew)
      return doubled(op, first->second, Content::Workloads,
                     "etc.workload of its role and types");
    held[index].set(migration.getParallel(side).getPoolIndex(op.getRole()));
  }
  for (Side side : {Side::Prev, Side::Curr})
    if (failed(checkPools(migration, side, held[static_cast<unsigned>(side)])))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

template <CostUnit Unit, Content Matrix>
static LogicalResult checkCosts(MigrationOp migration) {
  return checkOne<CostMatrixOp>(
      migration, Matrix, "etc.cost_matrix in " + stringifyCostUnit(Unit),
      [](CostMatrixOp op) { return op.getUnit() == Unit; });
}

static LogicalResult checkByteCosts(MigrationOp migration) {
  llvm::DenseMap<Attribute, OverlapOp> seen;
  for (OverlapOp op : migration.getOps<OverlapOp>())
    if (auto [first, isNew] = seen.try_emplace(op.getCurr(), op); !isNew)
      return doubled(op, first->second, Content::ByteCosts,
                     "etc.overlap of its role");
  return checkCosts<CostUnit::Bytes, Content::ByteCosts>(migration);
}

//===----------------------------------------------------------------------===//
// Sketch and placement
//===----------------------------------------------------------------------===//

/// Every replica of every current role is in one pair.
static LogicalResult checkPairs(MigrationOp migration) {
  ParallelAttr curr = migration.getCurr();
  int64_t replicas = curr.getRoleReplicas();
  SmallVector<PairOp> pairOf(curr.getRoles() * replicas);
  for (PairOp pair : migration.getOps<PairOp>())
    for (int64_t replica : pair.getCurrReplicas()) {
      PairOp &first =
          pairOf[curr.getRoleIndex(pair.getCurr()) * replicas + replica];
      if (first)
        return doubled(pair, first, Content::Pairs,
                       "etc.pair of replica " + llvm::Twine(replica) +
                           " of its role");
      first = pair;
    }
  for (auto [index, pair] : llvm::enumerate(pairOf))
    if (!pair)
      return missing(migration, Content::Pairs,
                     "etc.pair of " + curr.getRole(index / replicas).str() +
                         " replica " + llvm::Twine(index % replicas));
  return success();
}

static LogicalResult checkCertificates(MigrationOp migration) {
  for (Level level : {Level::Device, Level::Node})
    if (failed(checkOne<CertificateOp>(
            migration, Content::Certificates,
            "etc.certificate of the " + stringifyLevel(level) + " level",
            [&](CertificateOp op) { return op.getLevel() == level; })))
      return failure();
  return success();
}

static LogicalResult checkPlacement(MigrationOp migration) {
  return checkOne<PlacementOp>(migration, Content::Placement, "etc.placement",
                               [](PlacementOp) { return true; });
}

//===----------------------------------------------------------------------===//
// Demands, transfers, schedule
//===----------------------------------------------------------------------===//

/// One list of a kind, and no two of its entries alike.
template <typename ListT, typename EntryT, typename KeyFn>
static LogicalResult checkList(MigrationOp migration, Content content,
                               const llvm::Twine &what, KeyFn keyOf) {
  if (failed(checkOne<ListT>(migration, content, ListT::getOperationName(),
                             [](ListT) { return true; })))
    return failure();
  using Key = decltype(keyOf(std::declval<EntryT>()));
  llvm::DenseMap<Key, EntryT> seen;
  for (EntryT op :
       migration.getOnly<ListT>().getBody().template getOps<EntryT>()) {
    if (auto [first, isNew] = seen.try_emplace(keyOf(op), op); !isNew)
      return doubled(op, first->second, content, what);
  }
  return success();
}

static LogicalResult checkDemands(MigrationOp migration) {
  return checkList<DemandsOp, DemandOp>(
      migration, Content::Demands, "etc.demand of its devices and workloads",
      [](DemandOp op) {
        return std::tuple<Attribute, Attribute, Attribute>(
            op.getDevicesAttr(), op.getWidAttr(), op.getWtAttr());
      });
}

static LogicalResult checkTransfers(MigrationOp migration) {
  return checkList<TransfersOp, TransferOp>(
      migration, Content::Transfers,
      "etc.transfer to its destinations of its workloads", [](TransferOp op) {
        return std::tuple<Attribute, Attribute, Attribute>(
            op.getDestinationsAttr(), op.getWidAttr(), op.getWtAttr());
      });
}

static LogicalResult checkMoves(MigrationOp migration) {
  auto transfers = migration.getOnly<TransfersOp>();
  if (!transfers && migration.getStage() != Stage::Routed)
    return checkDemands(migration);
  if (auto demands = migration.getOnly<DemandsOp>())
    return demands.emitError(
        "is there beside etc.transfers, which take its place");
  return checkTransfers(migration);
}

static LogicalResult checkSchedule(MigrationOp migration) {
  return checkList<ScheduleOp, CutOp>(
      migration, Content::Schedule, "etc.cut of its workloads", [](CutOp op) {
        return std::pair<Attribute, Attribute>(op.getWidAttr(), op.getWtAttr());
      });
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// As many devices have a previous role as ranks are alive.
static int64_t countLiving(MigrationOp migration) {
  llvm::BitVector dead(migration.getDeviceCount());
  for (int64_t device : migration.getFailed().value_or(ArrayRef<int64_t>()))
    dead.set(device);
  return llvm::count_if(migration.getPrevPlacement(),
                        [&](int64_t device) { return !dead.test(device); });
}

/// Every device has one program, and every role its devices.
static LogicalResult checkPrograms(MigrationOp migration) {
  SmallVector<ProgramOp> programOf(migration.getDeviceCount());
  int64_t takers = 0, holders = 0;
  for (ProgramOp program : migration.getOps<ProgramOp>()) {
    for (int64_t device : program.getDevices()) {
      if (ProgramOp first = programOf[device])
        return doubled(program, first, Content::Programs,
                       "etc.program of device " + llvm::Twine(device));
      programOf[device] = program;
    }
    takers += program.getCurr() ? program.getDevices().size() : 0;
    holders += program.getPrev() ? program.getDevices().size() : 0;
  }
  for (auto [side, expected, count] :
       {std::tuple(Side::Curr, migration.getCurr().getWorld(), takers),
        std::tuple(Side::Prev, countLiving(migration), holders)})
    if (count != expected)
      return missing(migration, Content::Programs,
                     "etc.program for some devices: " + llvm::Twine(count) +
                         " of " + llvm::Twine(expected) + " have a role of " +
                         stringifySide(side));
  return success();
}

/// Instructions stand in rounds.
static LogicalResult checkRounds(MigrationOp migration) {
  if (!migration.getOnly<ProgramOp>())
    return missing(migration, Content::Programs, "etc.program");
  for (ProgramOp program : migration.getOps<ProgramOp>())
    for (Operation &op : program.getBody().getOps())
      if (!isa<RoundOp>(op))
        return op.emitError("is not in a round");
  return success();
}

//===----------------------------------------------------------------------===//
// All contents
//===----------------------------------------------------------------------===//

namespace {
/// How some content is checked, and an op that shows that it is there.
struct ContentCheck {
  Content content;
  LogicalResult (*check)(MigrationOp);
  bool (*isPart)(Operation &);
};
} // namespace

template <typename OpT> static bool isOp(Operation &op) { return isa<OpT>(op); }

template <CostUnit Unit> static bool isCosts(Operation &op) {
  auto matrix = dyn_cast<CostMatrixOp>(op);
  return matrix && matrix.getUnit() == Unit;
}

/// What an inventory holds is of the request.
static bool isBuiltWorkload(Operation &op) {
  auto workload = dyn_cast<WorkloadOp>(op);
  if (!workload)
    return false;
  auto migration = cast<MigrationOp>(op.getParentOp());
  return !migration.getParallel(workload.getSide()).getInventory();
}

static bool isMove(Operation &op) { return isa<DemandsOp, TransfersOp>(op); }

static constexpr ContentCheck checks[] = {
    // clang-format off
    {Content::Tensors, checkTensors, isOp<TensorOp>},
    {Content::Workloads, checkWorkloads, isBuiltWorkload},
    {Content::UnitCosts, checkCosts<CostUnit::Units, Content::UnitCosts>, isCosts<CostUnit::Units>},
    {Content::ByteCosts, checkByteCosts, isCosts<CostUnit::Bytes>},
    {Content::PpCosts, checkCosts<CostUnit::Pp, Content::PpCosts>, isCosts<CostUnit::Pp>},
    {Content::TpCosts, checkCosts<CostUnit::Tp, Content::TpCosts>, isCosts<CostUnit::Tp>},
    {Content::MergedCosts, checkCosts<CostUnit::Merged, Content::MergedCosts>, isCosts<CostUnit::Merged>},
    {Content::Pairs, checkPairs, isOp<PairOp>},
    {Content::Certificates, checkCertificates, isOp<CertificateOp>},
    {Content::Placement, checkPlacement, isOp<PlacementOp>},
    {Content::Demands, checkDemands, isOp<DemandsOp>},
    {Content::Transfers, checkTransfers, isOp<TransfersOp>},
    {Content::Moves, checkMoves, isMove},
    {Content::Schedule, checkSchedule, isOp<ScheduleOp>},
    {Content::Programs, checkPrograms, isOp<ProgramOp>},
    {Content::Rounds, checkRounds, isOp<ProgramOp>},
    // clang-format on
};

static bool includes(Content contents, Content content) {
  return (contents & content) != Content::None;
}

LogicalResult etc::checkPresent(Content contents, MigrationOp migration) {
  for (const ContentCheck &one : checks)
    if (includes(contents, one.content) && failed(one.check(migration)))
      return failure();
  return success();
}

LogicalResult etc::checkAbsent(Content contents, StringRef pass,
                               MigrationOp migration) {
  for (const ContentCheck &one : checks)
    if (includes(contents, one.content) && passThatAdds(one.content) == pass)
      for (Operation &op : migration.getBody().getOps())
        if (one.isPart(op))
          return op.emitError()
                 << "is there before " << pass << ", which adds it, has run";
  return success();
}
