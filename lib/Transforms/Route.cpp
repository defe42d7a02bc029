//===- Route.cpp - Who sends what devices lack ----------------------------===//

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

/// One transfer for all destinations of a hop.
void TransferWriter::write(const Demand &demand, ArrayRef<Source> sources) {
  std::map<unsigned, std::pair<SmallVector<int64_t>, SmallVector<int64_t>>>
      byHop;
  for (auto [source, destination] :
       llvm::zip_equal(sources, demand.destinations)) {
    auto &[from, to] = byHop[source.hop];
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
  for (const auto &[hop, ends] : byHop)
    // A relay has the copy itself.
    TransferOp::create(builder, loc, ids, types, ends.first, ends.second,
                       fragment.tied && hop == 0,
                       hop ? builder.getI64IntegerAttr(hop) : IntegerAttr());
}

LogicalResult Route::runOnMigration(MigrationOp migration) {
  const auto &table = getAnalysis<TensorTable>();
  const auto &fleet = getAnalysis<MigrationFleet>();
  auto list = migration.getOnly<DemandsOp>();
  ListedDemands listed(list, table);
  for (const Fragment &fragment : listed.fragments)
    if (fleet.findHolders(fragment).empty())
      return listed.opOf[&fragment].emitError("has no holder that is alive");
  const bool isPaper = migration.getPolicy() == Policy::Paper;
  const SourcedDemands sourced =
      isPaper ? solveInTurn(std::move(listed.demands), fleet)
              : solveSources(std::move(listed.demands), fleet, byTime);
  TransferWriter writer(list, table, listed);
  for (size_t number = 0; number < sourced.demands.size(); ++number)
    writer.write(sourced.demands[number], sourced.choice.sources[number]);
  parts += sourced.demands.size();
  list.erase();
  markAnalysesPreserved<TensorTable, BothHoldings, Devices, DeviceNeeds,
                        MigrationFleet>();
  return success();
}
