//===- Route.cpp - Who sends what devices lack ----------------------------===//

#include "TransferWriter.h"
#include "etc/Analysis/Crossing.h"
#include "etc/Analysis/MigrationFleet.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace etc {
#define GEN_PASS_DEF_ROUTEPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
struct Route : ::etc::impl::RoutePassBase<Route> {
  using RoutePassBase::RoutePassBase;

  LogicalResult runOnMigration(MigrationOp migration) override;

private:
  std::optional<Timing> findTiming(MigrationOp migration);
  int64_t countCrossing(const routing::Cut &cut, bool ofPause);
  void writeBound(MigrationOp migration, ArrayRef<routing::Cut> cuts,
                  bool ofPause);
  SourcedDemands solve(Demands demands, bool isPaper, const Timing *timing);
};
} // namespace

/// What the budget leaves beside the state. One in bytes says nothing of it.
static int64_t transitPpmOf(MigrationOp migration) {
  constexpr int64_t whole = 1'000'000, byDefault = 50'000;
  if (migration.getBudgetBytes())
    return 0;
  const std::optional<uint64_t> ppm = migration.getBudgetPpm();
  return ppm ? std::max<int64_t>(0, static_cast<int64_t>(*ppm) - whole)
             : byDefault;
}

/// What time depends on; nothing where nobody states rates.
std::optional<Timing> Route::findTiming(MigrationOp migration) {
  ResourcesAttr resources = migration.getResourcesAttr();
  if (!resources)
    return std::nullopt;
  const auto &devices = getAnalysis<Devices>();
  const auto &needs = getAnalysis<DeviceNeeds>();
  Timing timing = {
      {resources.getLinkRate(), resources.getNicRate(), resources.getNics()},
      llvm::BitVector(devices.size()),
      byTime,
      transitPpmOf(migration)};
  for (int64_t device = 0; device < devices.size(); ++device)
    if (devices.getPrevRole(device) >= 0 || needs.getCurrRole(device) >= 0)
      timing.participants.set(device);
  return timing;
}

/// Atoms know no twins, so the bytes of a cut are counted by holdings.
int64_t Route::countCrossing(const routing::Cut &cut, bool ofPause) {
  const auto &devices = getAnalysis<Devices>();
  const auto setOf = [&](ArrayRef<int32_t> list) {
    llvm::BitVector set(devices.size());
    for (int32_t device : list)
      set.set(device);
    return set;
  };
  const llvm::BitVector all = setOf(cut.devices), inner = setOf(cut.inner);
  if (cut.direction == routing::Direction::Out)
    return countLeaving(all, inner, getAnalysis<TensorTable>(),
                        getAnalysis<BothHoldings>(), devices,
                        getAnalysis<DeviceNeeds>(), ofPause);
  auto count = [&](const llvm::BitVector &needers,
                   const llvm::BitVector &holders) {
    return countEntering(needers, holders, getAnalysis<TensorTable>(),
                         getAnalysis<BothHoldings>(), devices,
                         getAnalysis<DeviceNeeds>(), ofPause);
  };
  int64_t bytes = count(all, all);
  if (!cut.inner.empty())
    bytes -= count(inner, all);
  for (int32_t device : cut.inner)
    bytes += count(setOf(device), setOf(device));
  return bytes;
}

/// The cut that is slowest once its bytes are counted again. There are no more
/// of them then, so not all cuts have to be.
void Route::writeBound(MigrationOp migration, ArrayRef<routing::Cut> cuts,
                       bool ofPause) {
  routing::Cut cut;
  for (const routing::Cut &candidate : cuts) {
    if (candidate.time <= cut.time)
      continue;
    const int64_t bytes = countCrossing(candidate, ofPause);
    if (const routing::Time time{bytes, candidate.time.rate}; time > cut.time) {
      cut = candidate;
      cut.time = time;
    }
  }
  if (cut.devices.empty())
    return;
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  auto numbers = [](ArrayRef<int32_t> list) {
    return SmallVector<int64_t>(list.begin(), list.end());
  };
  TimeBoundOp::create(
      builder, migration.getFieldLoc({"cluster", "curr"}), ofPause,
      cut.direction == routing::Direction::In ? Direction::In : Direction::Out,
      numbers(cut.devices),
      cut.inner.empty() ? nullptr
                        : builder.getDenseI64ArrayAttr(numbers(cut.inner)),
      cut.time.bytes, cut.time.rate);
}

SourcedDemands Route::solve(Demands demands, bool isPaper,
                            const Timing *timing) {
  const auto &fleet = getAnalysis<MigrationFleet>();
  return isPaper ? solveInTurn(std::move(demands), fleet, timing)
                 : solveSources(std::move(demands), fleet, timing);
}

/// What passes through a device has room beside all of the state. The part of
/// some types is measured against what these alone send.
static std::optional<Timing> forTypes(std::optional<Timing> timing,
                                      const TensorTable &table,
                                      const llvm::SmallBitVector &types) {
  int64_t all = 0, these = 0;
  for (unsigned type = 0; type < table.getTypeCount(); ++type) {
    all += table.getTypeBytes(type);
    these += types.test(type) ? table.getTypeBytes(type) : 0;
  }
  if (timing)
    timing->transitPpm = timing->transitPpm * all / these;
  return timing;
}

/// What the pause moves and what is deferred share no round, so each is routed
/// as if it were alone.
LogicalResult Route::runOnMigration(MigrationOp migration) {
  const auto &table = getAnalysis<TensorTable>();
  auto list = migration.getOnly<DemandsOp>();
  const std::optional<Timing> timing = findTiming(migration);
  if (byTime && !timing)
    return migration.emitError("states no resources; least time needs the "
                               "rates of its links and NICs");
  const bool isPaper = migration.getPolicy() == Policy::Paper,
             defers = migration.getDeferred().has_value();
  llvm::SmallBitVector all(table.getTypeCount(), true),
      urgent = table.getDeferredTypes();
  urgent.flip();
  SmallVector<llvm::SmallBitVector, 2> groups = {all};
  if (defers)
    groups = {urgent, table.getDeferredTypes()};
  TransferWriter writer(list, table, getAnalysis<BothHoldings>().prev,
                        getAnalysis<Devices>());
  for (const llvm::SmallBitVector &types : groups) {
    ListedDemands listed(list, table, types);
    for (const Fragment &fragment : listed.fragments)
      if (getAnalysis<MigrationFleet>().findHolders(fragment).empty())
        return listed.opOf[&fragment].emitError("has no holder that is alive");
    const std::optional<Timing> own = forTypes(timing, table, types);
    const SourcedDemands sourced =
        solve(std::move(listed.demands), isPaper, own ? &*own : nullptr);
    if (timing && types != table.getDeferredTypes())
      writeBound(migration, sourced.bounds, defers);
    if (sourced.isRouted)
      migration->setDiscardableAttr(byTimeMark, UnitAttr::get(&getContext()));
    routed += sourced.isRouted;
    writer.write(sourced, listed);
    parts += sourced.demands.size();
  }
  if (defers && timing) // of all that moves, one after the other
    writeBound(migration,
               solveInTurn(ListedDemands(list, table, all).demands,
                           getAnalysis<MigrationFleet>(), &*timing)
                   .bounds,
               /*ofPause=*/false);
  list.erase();
  markAnalysesPreserved<TensorTable, BothHoldings, Devices, DeviceNeeds,
                        MigrationFleet>();
  return success();
}
