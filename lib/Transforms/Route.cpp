//===- Route.cpp - Who sends what devices lack ----------------------------===//

#include "etc/Analysis/Crossing.h"
#include "etc/Analysis/Fragments.h"
#include "etc/Analysis/MigrationFleet.h"
#include "etc/Optimize/Sources/Solver.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

#include <deque>

namespace etc {
#define GEN_PASS_DEF_ROUTEPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
/// The demands of a migration, and the ops that say them.
struct ListedDemands {
  ListedDemands(DemandsOp list, const TensorTable &table);

  Demands demands;
  std::deque<Fragment> fragments;
  llvm::DenseMap<const Fragment *, DemandOp> opOf;
};

/// Writes the transfers of demands with their sources.
class TransferWriter {
public:
  TransferWriter(DemandsOp list, const TensorTable &table,
                 const ListedDemands &listed);
  void write(const Demand &demand, ArrayRef<Source> sources);

private:
  OpBuilder builder;
  const Location loc;
  const TensorTable &table;
  const ListedDemands &listed;
};

struct Route : ::etc::impl::RoutePassBase<Route> {
  using RoutePassBase::RoutePassBase;

  LogicalResult runOnMigration(MigrationOp migration) override;

private:
  std::optional<Timing> findTiming(MigrationOp migration);
  void writeBound(MigrationOp migration, const routing::Cut &cut,
                  const Timing &timing);
};
} // namespace

ListedDemands::ListedDemands(DemandsOp list, const TensorTable &table) {
  for (DemandOp op : list.getBody().getOps<DemandOp>()) {
    const Fragment &fragment = fragments.emplace_back(readFragment(op, table));
    demands.add(fragment, op.getDevices());
    opOf[&fragment] = op;
  }
}

TransferWriter::TransferWriter(DemandsOp list, const TensorTable &table,
                               const ListedDemands &listed)
    : builder(list), loc(list.getLoc()), table(table), listed(listed) {
  auto transfers = TransfersOp::create(builder, loc);
  builder.setInsertionPointToEnd(&transfers.getBody().emplaceBlock());
}

/// One transfer for all destinations of a hop that keep what they receive, or
/// do not.
void TransferWriter::write(const Demand &demand, ArrayRef<Source> sources) {
  using Kind = std::tuple<unsigned, bool, bool>;
  std::map<Kind, std::pair<SmallVector<int64_t>, SmallVector<int64_t>>> byHop;
  for (auto [source, destination] :
       llvm::zip_equal(sources, demand.destinations)) {
    auto &[from, to] =
        byHop[{source.hop, source.fromTransit, source.toTransit}];
    from.push_back(source.device);
    to.push_back(destination);
  }
  const Fragment &fragment = *demand.fragment;
  // What was not cut is said already.
  DemandOp op = listed.opOf.lookup(&fragment);
  ArrayAttr ids = op ? op.getWid()
                     : foldWorkloads(table, llvm::to_vector(fragment.pieces),
                                     fragment.types),
            types = table.getTypeNames(fragment.types);
  for (const auto &[kind, ends] : byHop) {
    const auto [hop, fromTransit, toTransit] = kind;
    // A relay has the copy itself.
    TransferOp::create(builder, loc, ids, types, ends.first, ends.second,
                       fragment.tied && hop == 0,
                       hop ? builder.getI64IntegerAttr(hop) : IntegerAttr(),
                       fromTransit, toTransit);
  }
}

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

/// The bytes of the cut are counted again: atoms know no twins.
void Route::writeBound(MigrationOp migration, const routing::Cut &cut,
                       const Timing &timing) {
  const bool isIn = cut.direction == routing::Direction::In;
  llvm::BitVector inside(timing.participants.size());
  for (int32_t device : cut.devices)
    inside.set(device);
  llvm::BitVector receivers = timing.participants;
  isIn ? receivers &= inside : receivers.reset(inside);
  const int64_t bytes = countEntering(
      receivers, getAnalysis<TensorTable>(), getAnalysis<BothHoldings>(),
      getAnalysis<Devices>(), getAnalysis<DeviceNeeds>());
  if (bytes == 0)
    return;
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  TimeBoundOp::create(
      builder, migration.getFieldLoc({"cluster", "curr"}),
      isIn ? Direction::In : Direction::Out,
      SmallVector<int64_t>(cut.devices.begin(), cut.devices.end()), bytes,
      cut.time.rate);
}

LogicalResult Route::runOnMigration(MigrationOp migration) {
  const auto &table = getAnalysis<TensorTable>();
  const auto &fleet = getAnalysis<MigrationFleet>();
  auto list = migration.getOnly<DemandsOp>();
  ListedDemands listed(list, table);
  for (const Fragment &fragment : listed.fragments)
    if (fleet.findHolders(fragment).empty())
      return listed.opOf[&fragment].emitError("has no holder that is alive");
  const std::optional<Timing> timing = findTiming(migration);
  if (byTime && !timing)
    return migration.emitError("states no resources; least time needs the "
                               "rates of its links and NICs");
  const Timing *times = timing ? &*timing : nullptr;
  const bool isPaper = migration.getPolicy() == Policy::Paper;
  const SourcedDemands sourced =
      isPaper ? solveInTurn(std::move(listed.demands), fleet, times)
              : solveSources(std::move(listed.demands), fleet, times);
  if (sourced.bound)
    writeBound(migration, *sourced.bound, *timing);
  if (sourced.isRouted)
    migration->setDiscardableAttr(byTimeMark, UnitAttr::get(&getContext()));
  routed += sourced.isRouted;
  TransferWriter writer(list, table, listed);
  for (size_t number = 0; number < sourced.demands.size(); ++number)
    writer.write(sourced.demands[number], sourced.choice.sources[number]);
  parts += sourced.demands.size();
  list.erase();
  markAnalysesPreserved<TensorTable, BothHoldings, Devices, DeviceNeeds,
                        MigrationFleet>();
  return success();
}
