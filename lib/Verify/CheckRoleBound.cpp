//===- CheckRoleBound.cpp - V17: no roles are faster ----------------------===//
//
// The facts of the proof, from what lib/Layout says that roles hold.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "SharedBytes.h"
#include "core/proof/RoleBoundProof.h"

using namespace etc;
using namespace mlir;

plan::fb::Place etc::placeInFile(Place place) {
  switch (place) {
  case Place::Pack:
    return plan::fb::Place::pack;
  case Place::Tp:
    return plan::fb::Place::tp;
  case Place::Any:
    break;
  }
  return plan::fb::Place::any;
}

static void readDevices(const PlanUnderTest &plan, RoleBoundFacts &facts) {
  MigrationOp migration = plan.migration;
  facts.prevRole.assign(plan.nodeOf.size(), -1);
  facts.canTakeRole.assign(plan.nodeOf.size(), true);
  for (auto [rank, device] : llvm::enumerate(migration.getPrevPlacement()))
    facts.prevRole[device] =
        LayoutOracle::roleOfRank(migration.getPrev(), rank);
  for (int64_t device : migration.getFailed().value_or(ArrayRef<int64_t>())) {
    facts.prevRole[device] = -1;
    facts.canTakeRole[device] = false;
  }
  for (int64_t device : migration.getDraining().value_or(ArrayRef<int64_t>()))
    facts.canTakeRole[device] = false;
}

static RoleBoundFacts readFacts(const PlanUnderTest &plan) {
  MigrationOp migration = plan.migration;
  ParallelAttr curr = migration.getCurr();
  ResourcesAttr resources = migration.getResourcesAttr();
  RoleBoundFacts facts;
  facts.nodes = migration.getNodes().vec();
  facts.place = placeInFile(migration.getPlace().value_or(Place::Any));
  facts.linkRate = resources.getLinkRate();
  facts.nicRate = resources.getNicRate();
  facts.nics = resources.getNics();
  readDevices(plan, facts);
  facts.prevRoles = migration.getPrev().getRoles();
  facts.currRoles = curr.getRoles();
  for (int64_t rank = 0; rank < curr.getWorld(); ++rank)
    facts.currRole.push_back(LayoutOracle::roleOfRank(curr, rank));
  facts.tensorParallel = curr.getTp();
  facts.replicas = curr.getRoleReplicas();
  std::set<int64_t> held(facts.prevRole.begin(), facts.prevRole.end());
  held.erase(-1);
  facts.shared = countShared(plan.table, plan.oracle, held, facts.currRoles);
  return facts;
}

static StatedRoleBound read(RoleBoundOp op) {
  return {op.getLevel() == Level::Node,
          static_cast<plan::fb::RoleWitness>(op.getWitness()),
          op.getInside().vec(),
          op.getU().vec(),
          op.getV().vec(),
          static_cast<int64_t>(op.getBytes()),
          static_cast<int64_t>(op.getRate())};
}

LogicalResult etc::checkRoleBound(const PlanUnderTest &plan) {
  MigrationOp migration = plan.migration;
  for (RoleBoundOp bound : migration.getOps<RoleBoundOp>()) {
    // Where the request or an inventory decides, other roles are no matter.
    if (migration.getCurrDevices() || migration.getCurr().getInventory() ||
        migration.getPrev().getInventory())
      return Refusal(bound, Rule::RoleBound)
             << "is about roles that the request does not leave open";
    if (auto flaw = findFlaw(readFacts(plan), read(bound)))
      return Refusal(bound, Rule::RoleBound) << *flaw;
  }
  return success();
}
