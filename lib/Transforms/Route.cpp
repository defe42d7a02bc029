//===- Route.cpp - Who sends what devices lack ----------------------------===//

#include "TimeBounds.h"
#include "TransferWriter.h"
#include "etc/Analysis/MigrationFleet.h"
#include "etc/Analysis/TiedContents.h"
#include "etc/Transforms/Passes.h"

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
  void writeBound(MigrationOp migration, ArrayRef<routing::Cut> cuts,
                  bool ofPause) {
    writeTimeBound(migration, cuts,
                   {getAnalysis<TensorTable>(), getAnalysis<BothHoldings>(),
                    getAnalysis<Devices>(), getAnalysis<DeviceNeeds>()},
                   ofPause);
  }
  std::optional<Timing> forTypes(std::optional<Timing> timing,
                                 const llvm::SmallBitVector &types);
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
      transitPpmOf(migration),
      leastGain,
      findsTolls,
      fasterThan};
  for (int64_t device = 0; device < devices.size(); ++device)
    if (devices.getPrevRole(device) >= 0 || needs.getCurrRole(device) >= 0)
      timing.participants.set(device);
  return timing;
}

SourcedDemands Route::solve(Demands demands, bool isPaper,
                            const Timing *timing) {
  const auto &fleet = getAnalysis<MigrationFleet>();
  return isPaper ? solveInTurn(std::move(demands), fleet, timing)
                 : solveSources(std::move(demands), fleet, timing);
}

/// What passes through a device has room beside all of the state. The part of
/// some types is measured against what these alone send.
std::optional<Timing> Route::forTypes(std::optional<Timing> timing,
                                      const llvm::SmallBitVector &types) {
  const auto &table = getAnalysis<TensorTable>();
  int64_t all = 0, these = 0;
  for (unsigned type = 0; type < table.getTypeCount(); ++type) {
    all += table.getTypeBytes(type);
    these += types.test(type) ? table.getTypeBytes(type) : 0;
  }
  if (timing) {
    timing->transitPpm = timing->transitPpm * all / these;
    timing->tied = listTiedContents(table, getAnalysis<BothHoldings>(),
                                    getAnalysis<Devices>(),
                                    getAnalysis<DeviceNeeds>(), types);
  }
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
    const std::optional<Timing> own = forTypes(timing, types);
    const SourcedDemands sourced =
        solve(std::move(listed.demands), isPaper, own ? &*own : nullptr);
    if (timing && types != table.getDeferredTypes())
      writeBound(migration, sourced.bounds, defers);
    if (sourced.isRouted)
      migration->setDiscardableAttr(byTimeMark, UnitAttr::get(&getContext()));
    if (sourced.isLeftOut)
      migration->setDiscardableAttr(quickMark, UnitAttr::get(&getContext()));
    routed += sourced.isRouted;
    writer.write(sourced, listed);
    parts += sourced.demands.size();
  }
  if (defers && timing) { // of all that moves, one after the other
    const std::optional<Timing> own = forTypes(timing, all);
    writeBound(migration,
               solveInTurn(ListedDemands(list, table, all).demands,
                           getAnalysis<MigrationFleet>(), &*own)
                   .bounds,
               /*ofPause=*/false);
  }
  list.erase();
  markAnalysesPreserved<TensorTable, BothHoldings, Devices, DeviceNeeds,
                        MigrationFleet>();
  return success();
}
