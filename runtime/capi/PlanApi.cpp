// Plans through the C API.

#include "capi/TensorInfo.h"

#include "core/plan/Configuration.h"
#include "core/plan/Referee.h"
#include "core/plan/Relays.h"
#include "core/plan/Slice.h"

using namespace etc;
using namespace etc::runtime;
namespace fb = etc::plan::fb;

static etc_error *deliver(Result<std::shared_ptr<const OpenPlan>> open,
                          etc_plan **plan) {
  if (!open)
    return toError(open.status());
  *plan = new etc_plan{std::move(*open)};
  return nullptr;
}

static const flatbuffers::Vector<uint32_t> &placementOf(const etc_plan *plan,
                                                        etc_side side) {
  const fb::Plan &file = plan->open->plan();
  return side == ETC_PREV ? *file.prev_placement() : *file.curr_placement();
}

static std::span<const Holding> holdingsOf(const etc_plan *plan, etc_side side,
                                           uint32_t participant) {
  const PlanIndex &index = plan->open->index();
  if (participant >= index.rankCount() || !index.hasProgramOf(participant))
    return {};
  return index.holdings(index.participant(participant).program, sideOf(side));
}

/// The holding that a caller names.
static Result<Holding> findHolding(const etc_plan *plan, etc_side side,
                                   uint32_t participant, size_t position) {
  auto holdings = holdingsOf(plan, side, participant);
  if (position >= holdings.size())
    return Status(ErrorKind::Usage,
                  text("participant ", participant, " holds ", holdings.size(),
                       " tensors on this side, there is no number ", position));
  return holdings[position];
}

static etc_summary summarize(const OpenPlan &open) {
  const fb::Summary &from = *open.plan().summary();
  etc_summary to{};
  to.rounds = open.plan().forecast()->size();
  to.moved_bytes = from.moved_bytes();
  to.kept_bytes = from.kept_bytes();
  to.zeroed_bytes = from.zeroed_bytes();
  to.derived_bytes = from.derived_bytes();
  to.internode_bytes = from.internode_bytes();
  to.max_send_bytes = from.max_send_bytes();
  to.max_recv_bytes = from.max_recv_bytes();
  if (!open.plan().slice()) { // which has no proof of them
    to.bound_moved_bytes = from.bound_moved_bytes();
    to.bound_internode_bytes = from.bound_internode_bytes();
    to.bound_bottleneck_bytes = from.bound_bottleneck_bytes();
  }
  to.relayed_bytes = etc::plan::relayedBytes(open.index());
  to.transit_bytes = from.transit_bytes();
  to.deferred_rounds = open.plan().deferred_rounds();
  auto [eager, safe] = peakRatios(open.index());
  to.peak_ratio = static_cast<double>(eager) / 10000;
  to.peak_ratio_safe = static_cast<double>(safe) / 10000;
  if (const fb::Volumes *paper = from.paper_policy()) {
    to.has_paper_policy = 1;
    to.paper_moved_bytes = paper->moved_bytes();
    to.paper_internode_bytes = paper->internode_bytes();
    to.paper_max_recv_bytes = paper->max_recv_bytes();
  }
  if (const std::optional<PlanTime> &time = open.time()) {
    const fb::Resources &resources = *open.plan().resources();
    to.has_time = 1;
    to.is_cluster_assumed = resources.assumed();
    to.bound_seconds = time->boundSeconds;
    to.port_seconds = time->portSeconds;
    to.predicted_seconds = time->predictedSeconds;
    to.witness = open.witness().c_str();
    to.cluster = resources.name()->c_str();
    to.roles_bound_seconds = time->roleBoundSeconds;
    to.roles_witness = open.rolesWitness().c_str();
  }
  return to;
}

extern "C" {

etc_error *etc_plan_open(const char *path, etc_plan **plan) {
  if (!path || !plan)
    return usage("etc_plan_open: an argument is NULL");
  try {
    return deliver(OpenPlan::open(path), plan);
  } catch (const std::exception &error) {
    return usage(error.what());
  }
}

etc_error *etc_plan_read(const void *bytes, size_t size, etc_plan **plan) {
  if (!bytes || !plan)
    return usage("etc_plan_read: an argument is NULL");
  try {
    return deliver(OpenPlan::copy({static_cast<const uint8_t *>(bytes), size}),
                   plan);
  } catch (const std::exception &error) {
    return usage(error.what());
  }
}

void etc_plan_free(etc_plan *plan) { delete plan; }

etc_error *etc_plan_verify(const etc_plan *plan) {
  return guarded([&] {
    const Status rules = etc::plan::checkPlan(plan->open->index());
    return rules.ok() ? plan->open->proof() : rules;
  });
}

const void *etc_plan_bytes(const etc_plan *plan, size_t *size) {
  *size = plan->open->bytes().size();
  return plan->open->bytes().data();
}

uint64_t etc_plan_fingerprint(const etc_plan *plan) {
  const etc::plan::fb::Slice *slice = plan->open->plan().slice();
  return slice ? slice->fingerprint() : plan->open->tree().root();
}

etc_error *etc_plan_slice(const etc_plan *plan, uint32_t participant,
                          etc_plan **slice) {
  if (!plan || !slice)
    return usage("etc_plan_slice: an argument is NULL");
  const PlanIndex &index = plan->open->index();
  if (participant >= index.rankCount())
    return usage(text("participant ", participant, ": the plan has ",
                      index.rankCount(), " participants")
                     .c_str());
  if (index.plan().slice())
    return usage("etc_plan_slice: the plan is a slice itself; take others from "
                 "the whole plan");
  try {
    return deliver(OpenPlan::copy(etc::plan::slicePlan(
                       index, plan->open->tree(), participant)),
                   slice);
  } catch (const std::exception &error) {
    return usage(error.what());
  }
}

const char *etc_plan_model(const etc_plan *plan) {
  return plan->open->plan().model()->c_str();
}

const char *etc_plan_label(const etc_plan *plan, etc_side side) {
  return plan->open->label(sideOf(side)).c_str();
}

etc_error *etc_plan_configuration(const etc_plan *plan, etc_side side,
                                  etc_configuration *configuration) {
  const fb::Configuration &from = plan->open->configuration(sideOf(side));
  etc_configuration to{};
  to.pp = from.pp();
  to.tp = from.tp();
  to.dp = from.dp();
  to.cp = from.cp();
  to.ep = from.ep();
  to.etp = from.etp();
  to.vpp = from.vpp();
  to.pipeline_first = from.order() == fb::RankOrder::tp_cp_ep_pp_dp;
  to.distributed_optimizer = from.zero1();
  to.is_inventory = from.inventory();
  to.fsdp = from.fsdp();
  return guarded(
      [&] { return copyOut(to, configuration, "etc_configuration"); });
}

etc_error *etc_plan_coordinates(const etc_plan *plan, etc_side side,
                                uint32_t rank, etc_coordinates *coordinates) {
  return guarded([&]() -> Status {
    const fb::Configuration &grid = plan->open->configuration(sideOf(side));
    if (rank >= etc::plan::worldOf(grid))
      return Status(ErrorKind::Usage,
                    text("rank ", rank, ": the configuration has ",
                         etc::plan::worldOf(grid), " ranks"));
    auto place = etc::plan::coordinatesOf(grid, rank);
    if (!place)
      return Status(ErrorKind::Usage,
                    "an inventory has no grid, so its ranks have no "
                    "coordinates");
    etc_coordinates to{};
    to.pp = place->pp;
    to.tp = place->tp;
    to.dp = place->dp;
    to.cp = place->cp;
    return copyOut(to, coordinates, "etc_coordinates");
  });
}

etc_error *etc_plan_summary(const etc_plan *plan, etc_summary *summary) {
  return guarded([&] {
    const Status &proof = plan->open->proof();
    return proof.ok() ? copyOut(summarize(*plan->open), summary, "etc_summary")
                      : proof;
  });
}

size_t etc_plan_certificate_count(const etc_plan *plan) {
  const auto *certificates = plan->open->plan().certificates();
  return certificates ? certificates->size() : 0;
}

etc_error *etc_plan_certificate(const etc_plan *plan, size_t index,
                                etc_certificate *certificate) {
  return guarded([&]() -> Status {
    const size_t count = etc_plan_certificate_count(plan);
    if (index >= count)
      return Status(ErrorKind::Usage,
                    text("the plan has ", count,
                         " certificates, there is no number ", index));
    if (const Status &proof = plan->open->proof(); !proof.ok())
      return proof;
    const fb::Certificate &from =
        *plan->open->plan().certificates()->Get(index);
    etc_certificate to{};
    to.quantity = static_cast<etc_quantity>(from.quantity());
    to.scope = static_cast<etc_scope>(from.scope());
    to.counted = static_cast<etc_counted>(from.counted());
    to.covers_relays = from.covers_relays();
    to.covers_twins = from.covers_twins();
    to.covers_recomputation = from.covers_recomputation();
    to.bound_bytes = from.bound();
    to.row_duals = from.row_duals()->data();
    to.rows = from.row_duals()->size();
    to.column_duals = from.column_duals()->data();
    to.columns = from.column_duals()->size();
    return copyOut(to, certificate, "etc_certificate");
  });
}

uint32_t etc_plan_node_count(const etc_plan *plan) {
  return plan->open->index().nodes().size();
}

uint32_t etc_plan_node_size(const etc_plan *plan, uint32_t node) {
  const std::vector<uint32_t> &nodes = plan->open->index().nodes();
  return node < nodes.size() ? nodes[node] : 0;
}

uint32_t etc_plan_participant_count(const etc_plan *plan) {
  return plan->open->index().rankCount();
}

uint32_t etc_plan_participant(const etc_plan *plan, uint32_t rank) {
  const PlanIndex &index = plan->open->index();
  return rank < index.rankCount() ? index.device(rank) : UINT32_MAX;
}

uint32_t etc_plan_world(const etc_plan *plan, etc_side side) {
  return placementOf(plan, side).size();
}

uint32_t etc_plan_placement(const etc_plan *plan, etc_side side,
                            uint32_t rank) {
  const auto &placement = placementOf(plan, side);
  return rank < placement.size() ? placement.Get(rank) : UINT32_MAX;
}

size_t etc_plan_tensor_count(const etc_plan *plan, etc_side side,
                             uint32_t participant) {
  return holdingsOf(plan, side, participant).size();
}

etc_error *etc_plan_tensor(const etc_plan *plan, etc_side side,
                           uint32_t participant, size_t index,
                           etc_tensor_info *info) {
  return guarded([&] {
    Result<Holding> holding = findHolding(plan, side, participant, index);
    if (!holding)
      return holding.status();
    return copyOut(describe(plan->open->index(), sideOf(side), *holding), info,
                   "etc_tensor_info");
  });
}

etc_error *etc_plan_box(const etc_plan *plan, etc_side side,
                        uint32_t participant, size_t index, uint32_t box,
                        int64_t *bounds) {
  return guarded([&]() -> Status {
    Result<Holding> holding = findHolding(plan, side, participant, index);
    if (!holding)
      return holding.status();
    const PlanIndex &tables = plan->open->index();
    if (box >= tables.boxCount(holding->shard))
      return Status(ErrorKind::Usage, text("there is no box ", box));
    for (etc::Span span : tables.shardBox(holding->shard, box)) {
      *bounds++ = span.begin;
      *bounds++ = span.end;
    }
    return Status::success();
  });
}

} // extern "C"
