//===- SideFile.cpp - A side that a file describes ------------------------===//

#include "etc/Request/Inventory.h"
#include "etc/Request/Request.h"

#include "core/plan/IsPlanFile.h"
#include "core/plan/PlanFile.h"
#include "core/plan/PlanIndex.h"

#include "llvm/ADT/DenseMap.h"

using namespace etc;
using namespace etc::request;
using llvm::Error;
using llvm::StringRef;

bool etc::request::namesSideFile(StringRef text) {
  if (text.ends_with(".json") || text.ends_with(".etcplan"))
    return true;
  // A configuration is one, whatever files there are.
  llvm::Expected<Parallelism> shorthand = parseParallelism(text, Field());
  if (shorthand)
    return false;
  llvm::consumeError(shorthand.takeError());
  return plan::isPlanFile(text.str());
}

static Parallelism parallelismOf(const plan::fb::Configuration &from) {
  Parallelism parallel;
  parallel.pp = from.pp();
  parallel.tp = from.tp();
  parallel.dp = from.dp();
  parallel.cp = from.cp();
  parallel.ep = from.ep();
  // As a request says it: as many as tp where nothing else is said.
  parallel.etp = from.etp() == from.tp() ? 0 : from.etp();
  parallel.vpp = from.vpp();
  parallel.order = from.order() == plan::fb::RankOrder::tp_cp_ep_pp_dp
                       ? RankOrder::TpCpEpPpDp
                       : RankOrder::TpCpEpDpPp;
  if (from.stages())
    parallel.stages.assign(from.stages()->begin(), from.stages()->end());
  parallel.distributedOptimizer = from.zero1();
  parallel.bucketSize = from.bucket_elements();
  parallel.mtpStage = from.mtp_stage();
  parallel.fsdp = from.fsdp();
  return parallel;
}

namespace {
/// Lists what the current roles of a plan hold.
class HoldingsLister {
public:
  explicit HoldingsLister(const plan::fb::Plan &plan) : index(plan) {}
  Inventory list();

private:
  int64_t addTensor(uint32_t number);
  int64_t addShard(plan::Holding holding);

  const plan::PlanIndex index;
  Inventory inventory;
  /// By their numbers in the plan, which has those of the side before, too.
  llvm::DenseMap<uint32_t, int64_t> tensors, shards;
};
} // namespace

int64_t HoldingsLister::addTensor(uint32_t number) {
  auto [entry, isNew] = tensors.try_emplace(number, inventory.tensors.size());
  if (isNew) {
    const plan::fb::Tensor &from = index.tensor(number);
    Inventory::Tensor &tensor = inventory.tensors.emplace_back();
    tensor.name = from.name()->str();
    tensor.type = from.type()->str();
    tensor.dtype = plan::fb::EnumNameDType(from.dtype());
    tensor.shape.assign(from.shape()->begin(), from.shape()->end());
  }
  return entry->second;
}

int64_t HoldingsLister::addShard(plan::Holding holding) {
  auto [entry, isNew] =
      shards.try_emplace(holding.shard, inventory.shards.size());
  if (isNew) {
    Inventory::Shard &shard = inventory.shards.emplace_back();
    shard.tensors.push_back(addTensor(holding.tensor));
    for (uint32_t box = 0; box < index.boxCount(holding.shard); ++box)
      shard.boxes.emplace_back(index.shardBox(holding.shard, box));
  }
  return entry->second;
}

Inventory HoldingsLister::list() {
  for (uint32_t device : *index.plan().curr_placement()) {
    Inventory::Device &role = inventory.devices.emplace_back();
    role.device = device;
    const std::optional<uint32_t> rank = index.rankOf(device);
    if (!rank)
      continue; // a role that holds nothing
    const uint32_t program = index.participant(*rank).program;
    for (plan::Holding holding : index.holdings(program, plan::Side::Curr))
      role.has.push_back(addShard(holding));
  }
  return std::move(inventory);
}

Error etc::request::planOfFile(StringRef path, const Field &field,
                               SideSpec &side) {
  auto file = plan::PlanFile::open(path.str());
  if (!file)
    return malformed(field, file.status().message());
  const plan::fb::Plan &last = file->plan();
  if (last.slice())
    return malformed(field, path + ": is the slice of rank " +
                                std::to_string(last.slice()->rank()) +
                                "; name the whole plan");
  if (last.model()->size() == 0)
    return malformed(field, path + ": does not say its model; plan it again");
  if (last.curr()->inventory()) {
    sideOfInventory(HoldingsLister(last).list(), field, side);
    return Error::success();
  }
  side.parallel = parallelismOf(*last.curr());
  side.devices.emplace(last.curr_placement()->begin(),
                       last.curr_placement()->end());
  side.devicesWhere = field.where;
  side.plannedModel = last.model()->str();
  side.planned = std::make_shared<const plan::PlanFile>(std::move(*file));
  return Error::success();
}

Error etc::request::sideOfFile(StringRef path, const Field &field,
                               SideSpec &side) {
  return path.ends_with(".etcplan") || plan::isPlanFile(path.str())
             ? planOfFile(path, field, side)
             : inventoryOfFile(path, field, side);
}
