//===- PlanResources.cpp - Rates, and the bound that rests on them --------===//

#include "PlanResources.h"

#include "core/plan/PlanFile.h"

using namespace etc;
namespace fb = etc::plan::fb;

static std::unique_ptr<fb::ResourcesT> resourcesOf(ResourcesAttr attr) {
  if (!attr)
    return nullptr;
  auto resources = std::make_unique<fb::ResourcesT>();
  resources->name = attr.getName().str();
  resources->assumed = attr.getAssumed();
  resources->link_rate = attr.getLinkRate();
  resources->link_latency = attr.getLinkLatency();
  resources->nics = attr.getNics();
  resources->nic_rate = attr.getNicRate();
  resources->nic_latency = attr.getNicLatency();
  resources->pack_rate = attr.getPackRate();
  resources->acknowledgements = attr.getAcks();
  return resources;
}

static std::unique_ptr<fb::TimeBoundT> timeBoundOf(TimeBoundOp op) {
  if (!op)
    return nullptr;
  auto bound = std::make_unique<fb::TimeBoundT>();
  bound->outgoing = op.getDirection() == Direction::Out;
  bound->devices.assign(op.getDevices().begin(), op.getDevices().end());
  bound->bytes = op.getBytes();
  bound->rate = op.getRate();
  if (auto inner = op.getInner())
    bound->inner.assign(inner->begin(), inner->end());
  if (op.hasTolls()) {
    bound->tolls = std::make_unique<fb::TollsT>();
    for (auto [list, devices] :
         {std::pair(&bound->tolls->links_out, op.getLinksOut()),
          {&bound->tolls->links_in, op.getLinksIn()},
          {&bound->tolls->nics_out, op.getNicsOut()},
          {&bound->tolls->nics_in, op.getNicsIn()}})
      if (devices)
        list->assign(devices->begin(), devices->end());
  }
  return bound;
}

static fb::Place placeOf(MigrationOp migration) {
  switch (migration.getPlace().value_or(Place::Any)) {
  case Place::Any:
    return fb::Place::any;
  case Place::Tp:
    return fb::Place::tp;
  case Place::Pack:
    return fb::Place::pack;
  }
  llvm_unreachable("unknown place");
}

static std::unique_ptr<fb::RoleBoundT> roleBoundOf(MigrationOp migration) {
  RoleBoundOp op = migration.getOnly<RoleBoundOp>();
  if (!op)
    return nullptr;
  auto bound = std::make_unique<fb::RoleBoundT>();
  bound->of_nodes = op.getLevel() == Level::Node;
  bound->witness = static_cast<fb::RoleWitness>(op.getWitness());
  bound->inside.assign(op.getInside().begin(), op.getInside().end());
  bound->bytes = op.getBytes();
  bound->rate = op.getRate();
  bound->row_duals.assign(op.getU().begin(), op.getU().end());
  bound->column_duals.assign(op.getV().begin(), op.getV().end());
  bound->place = placeOf(migration);
  return bound;
}

void etc::writeResources(MigrationOp migration, fb::PlanT &plan) {
  plan.resources = resourcesOf(migration.getResourcesAttr());
  plan.time_bound = timeBoundOf(migration.getTimeBound(/*ofPause=*/false));
  plan.pause_bound = timeBoundOf(migration.getTimeBound(/*ofPause=*/true));
  plan.role_bound = roleBoundOf(migration);
  for (const auto &bound : {&plan.time_bound, &plan.pause_bound}) {
    if (*bound && !(*bound)->inner.empty())
      plan.features |= plan::kInnerFeature;
    if (*bound && (*bound)->tolls)
      plan.features |= plan::kTollsFeature;
  }
}
