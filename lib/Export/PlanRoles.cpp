//===- PlanRoles.cpp - Configurations and roles of a plan -----------------===//

#include "PlanRoles.h"

using namespace etc;
namespace fb = etc::plan::fb;

std::unique_ptr<fb::ConfigurationT>
etc::configurationOf(ParallelAttr parallel) {
  auto configuration = std::make_unique<fb::ConfigurationT>();
  configuration->pp = parallel.getPp();
  configuration->tp = parallel.getTp();
  configuration->dp = parallel.getDp();
  configuration->cp = parallel.getCp();
  configuration->ep = parallel.getEp();
  configuration->etp = parallel.getEtp();
  configuration->vpp = parallel.getVpp();
  if (parallel.getPpBeforeDp())
    configuration->order = fb::RankOrder::tp_cp_ep_pp_dp;
  configuration->stages.assign(parallel.getStages().begin(),
                               parallel.getStages().end());
  configuration->zero1 = parallel.getZero1();
  configuration->bucket_elements = parallel.getBucketSize();
  configuration->mtp_stage = parallel.getMtpStage();
  configuration->inventory = parallel.getInventory();
  configuration->fsdp = parallel.getFsdp();
  return configuration;
}

std::unique_ptr<fb::Role> etc::roleOf(std::optional<RoleAttr> role) {
  if (!role)
    return nullptr;
  return std::make_unique<fb::Role>(role->getStage(), role->getSlot(),
                                    role->getReplica());
}
