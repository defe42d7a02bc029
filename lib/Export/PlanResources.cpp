//===- PlanResources.cpp - Rates, and the bound that rests on them --------===//

#include "PlanResources.h"

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
  return bound;
}

void etc::writeResources(MigrationOp migration, fb::PlanT &plan) {
  plan.resources = resourcesOf(migration.getResourcesAttr());
  plan.time_bound = timeBoundOf(migration.getTimeBound(/*ofPause=*/false));
  plan.pause_bound = timeBoundOf(migration.getTimeBound(/*ofPause=*/true));
}
