//===- MigrationFleet.cpp - The devices of a migration and their state ----===//

#include "etc/Analysis/MigrationFleet.h"

#include "etc/Analysis/Devices.h"

using namespace etc;

static std::vector<Fleet::Device> listDevices(MigrationOp migration) {
  const Devices devices(migration);
  std::vector<Fleet::Device> list;
  for (int64_t device = 0; device < devices.size(); ++device) {
    const int64_t role = devices.getPrevRole(device);
    list.push_back({devices.getNode(device), role,
                    role < 0 ? -1 : migration.getPrev().getPoolOf(role)});
  }
  return list;
}

MigrationFleet::MigrationFleet(MigrationOp migration)
    : Fleet(listDevices(migration), migration.getPrev().hasRanges()) {}

llvm::SmallVector<Holder, 0> etc::readHolders(DemandOp op) {
  ParallelAttr prev = op->getParentOfType<MigrationOp>().getPrev();
  llvm::SmallVector<Holder, 0> holders;
  for (auto role : op.getHolders().getAsRange<RoleAttr>()) {
    // Without ranges, roles have no replicas: each is a pool.
    const bool isPool = !role.hasReplica();
    holders.push_back(
        {isPool, isPool ? prev.getPoolIndex(role) : prev.getRoleIndex(role)});
  }
  // Not llvm::sort, which takes qsort for what is trivially copied.
  std::sort(holders.begin(), holders.end());
  return holders;
}

RoleAttr etc::toRole(ParallelAttr prev, Holder holder) {
  return holder.isPool ? prev.getPool(holder.number)
                       : prev.getRole(holder.number);
}
