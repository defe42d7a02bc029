//===- PairWriter.cpp - Who takes over from whom --------------------------===//

#include "PairWriter.h"

#include "etc/Analysis/Devices.h"

#include "llvm/ADT/MapVector.h"

using namespace etc;
using namespace mlir;

namespace {
/// Replicas of a current role that come from one previous role.
struct Replicas {
  SmallVector<int64_t> replicas, sources;
};
} // namespace

static void createPair(OpBuilder &builder, MigrationOp migration, RoleAttr role,
                       int64_t prevRole, const Replicas &ranks) {
  RoleAttr prev;
  DenseI64ArrayAttr sources, none;
  if (ranks.sources.front() >= 0)
    sources = builder.getDenseI64ArrayAttr(ranks.sources);
  if (prevRole >= 0)
    prev = migration.getPrev().getRole(prevRole);
  PairOp::create(builder, migration.getFieldLoc({"curr"}), role,
                 builder.getDenseI64ArrayAttr(ranks.replicas), prev,
                 prev ? sources : none, prev ? none : sources);
}

void etc::createPairs(OpBuilder &builder, MigrationOp migration,
                      ArrayRef<RankSource> sources) {
  ParallelAttr curr = migration.getCurr();
  const int64_t replicas = curr.getRoleReplicas();
  for (int64_t role = 0; role < curr.getRoles(); ++role) {
    llvm::MapVector<int64_t, Replicas> byPrevRole;
    for (int64_t replica = 0; replica < replicas; ++replica) {
      const RankSource &source = sources[role * replicas + replica];
      Replicas &same = byPrevRole[source.prevRole];
      same.replicas.push_back(replica);
      same.sources.push_back(source.number);
    }
    for (const auto &[prevRole, ranks] : byPrevRole)
      createPair(builder, migration, curr.getRole(role), prevRole, ranks);
  }
}

SmallVector<int64_t> etc::prevReplicas(MigrationOp migration) {
  SmallVector<int64_t> replicas(migration.getDeviceCount(), -1);
  for (auto [rank, device] : llvm::enumerate(migration.getPrevPlacement()))
    replicas[device] = placeOfRank(migration.getPrev(), rank).replica;
  return replicas;
}
