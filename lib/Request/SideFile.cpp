//===- SideFile.cpp - A side that a file describes ------------------------===//

#include "etc/Request/Request.h"

#include "core/plan/PlanFile.h"

using namespace etc::request;
using llvm::Error;
using llvm::StringRef;

bool etc::request::namesSideFile(StringRef text) {
  return text.ends_with(".json") || text.ends_with(".etcplan");
}

static Parallelism parallelismOf(const etc::plan::fb::Configuration &from) {
  Parallelism parallel;
  parallel.pp = from.pp();
  parallel.tp = from.tp();
  parallel.dp = from.dp();
  parallel.cp = from.cp();
  parallel.ep = from.ep();
  // As a request says it: as many as tp where nothing else is said.
  parallel.etp = from.etp() == from.tp() ? 0 : from.etp();
  parallel.vpp = from.vpp();
  parallel.order = from.order() == etc::plan::fb::RankOrder::tp_cp_ep_pp_dp
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
  return path.ends_with(".etcplan") ? planOfFile(path, field, side)
                                    : inventoryOfFile(path, field, side);
}
