//===- PlanShards.cpp - What programs hold, as numbers of shards ----------===//

#include "PlanShards.h"

using namespace etc;
using namespace mlir;
namespace fb = etc::plan::fb;
using llvm::ArrayRef;

/// Calls a function with the pieces of each tensor, of sorted ones.
template <typename Function>
static void forTensors(ArrayRef<Piece> pieces, Function function) {
  while (!pieces.empty()) {
    ArrayRef<Piece> shard = pieces.take_while(
        [&](const Piece &piece) { return piece.isOfSame(pieces.front()); });
    pieces = pieces.drop_front(shard.size());
    function(shard);
  }
}

//===----------------------------------------------------------------------===//
// By the workloads
//===----------------------------------------------------------------------===//

PlanShards::PlanShards(MigrationOp migration, const TensorTable &table,
                       PlanTables &tables, const fb::PlanT &plan)
    : migration(migration), table(table), tables(tables), plan(plan) {
  for (WorkloadOp workload : migration.getOps<WorkloadOp>())
    list(workload.getWid(), workload.getWt().value_or(ArrayAttr()),
         shardsOf[{workload.getSide(), workload.getRole()}]);
  for (auto &[holder, shards] : shardsOf)
    llvm::stable_sort(shards,
                      [&](uint32_t a, uint32_t b) { return isBefore(a, b); });
}

void PlanShards::list(ArrayAttr wid, ArrayAttr wt,
                      std::vector<uint32_t> &list) {
  const llvm::SmallBitVector types = table.getTypes(wt);
  SmallVector<Piece> pieces = table.expand(wid, types);
  llvm::sort(pieces);
  forTensors(pieces, [&](ArrayRef<Piece> shard) {
    tables.listShards(shard, types, list);
  });
}

std::vector<uint32_t> PlanShards::find(Side side,
                                       std::optional<RoleAttr> role) const {
  std::vector<uint32_t> shards;
  if (!role)
    return shards;
  auto of = [&](RoleAttr holder) {
    auto it = shardsOf.find({side, holder});
    return it == shardsOf.end() ? ArrayRef<uint32_t>()
                                : ArrayRef<uint32_t>(it->second);
  };
  ParallelAttr parallel = migration.getParallel(side);
  const ArrayRef<uint32_t> ofPool = of(
                               parallel.getPool(parallel.getPoolIndex(*role))),
                           ofRole = role->hasReplica() ? of(*role)
                                                       : ArrayRef<uint32_t>();
  shards.reserve(ofPool.size() + ofRole.size());
  std::merge(ofPool.begin(), ofPool.end(), ofRole.begin(), ofRole.end(),
             std::back_inserter(shards),
             [&](uint32_t a, uint32_t b) { return isBefore(a, b); });
  return shards;
}

//===----------------------------------------------------------------------===//
// By lib/Layout
//===----------------------------------------------------------------------===//

std::vector<uint32_t> PlanShardsChecker::list(ArrayRef<Piece> pieces) {
  std::vector<uint32_t> shards;
  forTensors(pieces, [&](ArrayRef<Piece> shard) {
    tables.listShards(shard, table.getTypes(shard.front().tensor), shards);
  });
  return shards;
}

ArrayRef<uint32_t> PlanShardsChecker::findShared(Side side, int64_t role) {
  const int64_t pool = migration.getParallel(side).getPoolOf(role);
  auto [entry, isNew] = ofPools.try_emplace({side, pool});
  if (isNew)
    entry->second = list(oracle.getShared(side, pool));
  return entry->second;
}

bool PlanShardsChecker::areHeld(Side side, std::optional<RoleAttr> role,
                                ArrayRef<uint32_t> shards) {
  if (!role)
    return shards.empty();
  const int64_t number = migration.getParallel(side).getRoleIndex(*role);
  const ArrayRef<uint32_t> ofPool = findShared(side, number);
  const std::vector<uint32_t> ofRole = list(oracle.getOwn(side, number));
  // Each is crossed out once, so that none can stand for another.
  isExpected.resize(plan.shards.size());
  for (ArrayRef<uint32_t> expected : {ofPool, ArrayRef<uint32_t>(ofRole)})
    for (uint32_t shard : expected)
      isExpected.set(shard);
  bool areHeld = shards.size() == ofPool.size() + ofRole.size();
  for (uint32_t shard : shards) {
    areHeld &= isExpected.test(shard);
    isExpected.reset(shard);
  }
  return areHeld;
}
