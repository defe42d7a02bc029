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
