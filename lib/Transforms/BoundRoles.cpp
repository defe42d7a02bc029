//===- BoundRoles.cpp - A time that no roles are below --------------------===//

#include "BoundRoles.h"

#include "RolePoser.h"

#include "mlir/IR/Builders.h"

using namespace etc;
using namespace mlir;
using placement::RoleBound;

static Witness toWitness(placement::RoleWitness witness) {
  switch (witness) {
  case placement::RoleWitness::Each:
    return Witness::Each;
  case placement::RoleWitness::Others:
    return Witness::Others;
  case placement::RoleWitness::Fewest:
    return Witness::Fewest;
  }
  llvm_unreachable("a witness");
}

void etc::writeRoleBound(MigrationOp migration, const TensorTable &table,
                         const BothHoldings &holdings, const Devices &devices,
                         const NodeClasses &classes) {
  if (!migration.getResourcesAttr() || migration.getCurrDevices())
    return;
  RolePoser poser(migration, table, holdings, devices, classes);
  if (!poser.isSmall() || !poser.listContents())
    return;
  Level level = Level::Device;
  std::optional<RoleBound> bound = findRoleBound(poser.pose(level));
  if (devices.getNodeCount() > 1)
    if (auto ofNodes = findRoleBound(poser.pose(Level::Node));
        ofNodes && (!bound || !isLess(*ofNodes, *bound))) {
      bound = std::move(ofNodes);
      level = Level::Node;
    }
  if (!bound)
    return;
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  RoleBoundOp::create(builder, migration.getFieldLoc({"cluster", "curr"}),
                      level, toWitness(bound->witness),
                      poser.cellsOf(bound->inside, level), bound->u, bound->v,
                      bound->bytes, bound->rate);
}
