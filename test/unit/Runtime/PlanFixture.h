// Two small plans, made by hand, that the referee accepts, and what tests do
// with plans.

#ifndef ETC_TEST_PLANFIXTURE_H
#define ETC_TEST_PLANFIXTURE_H

#include "core/plan/PlanFile.h"
#include "core/plan/PlanIndex.h"
#include "core/plan/Referee.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace etc::plan::test {

using Ranges = std::initializer_list<std::pair<int64_t, int64_t>>;

/// A grid of these sizes.
inline std::unique_ptr<fb::ConfigurationT> grid(uint32_t pp, uint32_t tp,
                                                uint32_t dp) {
  auto configuration = std::make_unique<fb::ConfigurationT>();
  configuration->pp = pp;
  configuration->tp = tp;
  configuration->dp = dp;
  return configuration;
}

/// Appends to a plan's tables.
class PlanBuilder {
public:
  uint32_t tensor(const char *name, const char *type, fb::DType dtype,
                  std::vector<int64_t> shape) {
    auto entry = std::make_unique<fb::TensorT>();
    entry->name = name;
    entry->type = type;
    entry->dtype = dtype;
    entry->shape = std::move(shape);
    plan.tensors.push_back(std::move(entry));
    return plan.tensors.size() - 1;
  }

  uint32_t box(Ranges ranges) {
    uint32_t offset = plan.bounds.size();
    for (auto [begin, end] : ranges)
      plan.bounds.insert(plan.bounds.end(), {begin, end});
    return offset;
  }

  uint32_t shard(uint32_t tensor, std::initializer_list<Ranges> boxes) {
    plan.shards.emplace_back(tensor, plan.boxes.size(), boxes.size());
    for (Ranges ranges : boxes)
      plan.boxes.push_back(box(ranges));
    return plan.shards.size() - 1;
  }

  fb::ProgramT &program(std::optional<fb::Role> curr,
                        std::optional<fb::Role> prev,
                        std::vector<uint32_t> devices,
                        std::vector<std::vector<uint32_t>> peers) {
    auto entry = std::make_unique<fb::ProgramT>();
    if (curr)
      entry->curr_role = std::make_unique<fb::Role>(*curr);
    if (prev)
      entry->prev_role = std::make_unique<fb::Role>(*prev);
    entry->devices = std::move(devices);
    for (std::vector<uint32_t> &list : peers) {
      entry->peers.push_back(std::make_unique<fb::PeersT>());
      entry->peers.back()->devices = std::move(list);
    }
    plan.programs.push_back(std::move(entry));
    return *plan.programs.back();
  }

  static void round(fb::ProgramT &program, std::vector<fb::Op> ops) {
    program.rounds.push_back(std::make_unique<fb::RoundT>());
    program.rounds.back()->ops = std::move(ops);
  }

  void forecast(uint64_t moved, uint64_t port) {
    plan.forecast.emplace_back(moved, port);
  }

  fb::PlanT plan;
};

inline fb::Op send(uint32_t peer, uint32_t tensor, uint32_t source,
                   uint32_t box) {
  return fb::Op(fb::OpKind::send, false, false, peer, tensor, source, box);
}
inline fb::Op relay(uint32_t peer, uint32_t tensor, uint32_t box) {
  return fb::Op(fb::OpKind::send, true, false, peer, tensor, tensor, box);
}
inline fb::Op recv(uint32_t peer, uint32_t tensor, uint32_t source,
                   uint32_t box) {
  return fb::Op(fb::OpKind::recv, false, false, peer, tensor, source, box);
}
/// The same op, of a transit shard.
inline fb::Op inTransit(fb::Op op) {
  op.mutate_transit(true);
  return op;
}
inline fb::Op refer(uint32_t tensor, uint32_t box) {
  return fb::Op(fb::OpKind::refer, false, false, 0, tensor, tensor, box);
}
inline fb::Op zero(uint32_t tensor, uint32_t box) {
  return fb::Op(fb::OpKind::zero, false, false, 0, tensor, tensor, box);
}
inline fb::Op derive(uint32_t tensor, uint32_t source, uint32_t box) {
  return fb::Op(fb::OpKind::derive, false, false, 0, tensor, source, box);
}
inline fb::Op release(uint32_t tensor) {
  return fb::Op(fb::OpKind::release, false, false, 0, tensor, tensor, 0);
}

/// PP2DP2 -> TP2DP2 on two nodes of two devices: devices 0 and 1 (program 0)
/// hold the embedding before and the upper half of everything after; devices 2
/// and 3 (program 1) hold the layer before and the lower half after. The
/// vocabulary grows from 5 to 6 rows, the head is created from its twin, the
/// norm stays where it is.
inline fb::PlanT twoStagePlan() {
  PlanBuilder b;
  using fb::DType;
  uint32_t embedding =
      b.tensor("embedding.weight", "param", DType::bf16, {6, 4});
  uint32_t layer = b.tensor("layer.weight", "param", DType::bf16, {4, 4});
  uint32_t master = b.tensor("layer.weight", "master", DType::fp32, {4, 4});
  uint32_t norm = b.tensor("norm.weight", "param", DType::fp32, {4});
  uint32_t head = b.tensor("head.weight", "param", DType::bf16, {6, 4});
  b.plan.tensors[embedding]->prev_shape = {5, 4};
  b.plan.tensors[head]->prev_shape = {5, 4};
  b.plan.tensors[head]->tied_to = embedding;
  b.plan.tensors[layer]->derived_from = master;

  uint32_t topRows = b.box({{0, 3}, {0, 4}}), oldRows = b.box({{3, 5}, {0, 4}});
  uint32_t newRow = b.box({{5, 6}, {0, 4}}), all = b.box({{0, 4}});
  uint32_t top = b.box({{0, 2}, {0, 4}}), bottom = b.box({{2, 4}, {0, 4}});
  uint32_t wholeNorm = b.shard(norm, {{{0, 4}}});

  fb::ProgramT &first =
      b.program(fb::Role(0, 0, -1), fb::Role(0, 0, -1), {0, 1}, {{2, 3}});
  first.prev_shards = {b.shard(embedding, {{{0, 5}, {0, 4}}}), wholeNorm};
  first.curr_shards = {b.shard(embedding, {{{0, 3}, {0, 4}}}),
                       b.shard(layer, {{{0, 2}, {0, 4}}}),
                       b.shard(master, {{{0, 2}, {0, 4}}}), wholeNorm};
  b.round(first,
          {send(0, embedding, embedding, oldRows),
           send(0, head, embedding, oldRows), recv(0, layer, layer, top),
           refer(embedding, topRows), refer(norm, all), release(embedding)});
  b.round(first, {recv(0, master, master, top)});
  // 40 + 16 before, 32 + 32 of staging, 24 + 16 in round 0; round 1 adds 32
  // after 40 went.
  first.send_slab = first.recv_slab = 32;
  first.peak = 160;
  first.peak_safe = 192;

  fb::ProgramT &second =
      b.program(fb::Role(0, 1, -1), fb::Role(1, 0, -1), {2, 3}, {{0, 1}});
  second.prev_shards = {b.shard(layer, {{{0, 4}, {0, 4}}}),
                        b.shard(master, {{{0, 4}, {0, 4}}}), wholeNorm};
  second.curr_shards = {b.shard(embedding, {{{3, 6}, {0, 4}}}),
                        b.shard(layer, {{{2, 4}, {0, 4}}}),
                        b.shard(master, {{{2, 4}, {0, 4}}}), wholeNorm,
                        b.shard(head, {{{3, 6}, {0, 4}}})};
  b.round(second,
          {send(0, layer, layer, top), recv(0, embedding, embedding, oldRows),
           recv(0, head, embedding, oldRows), refer(layer, bottom),
           refer(norm, all), zero(embedding, newRow), zero(head, newRow),
           release(layer)});
  b.round(second, {send(0, master, master, top), refer(master, bottom),
                   release(master)});
  // 32 + 64 + 16 before, 32 + 32 of staging, 24 + 16 + 24 in round 0; round 1
  // adds 32 after 32 went.
  second.send_slab = second.recv_slab = 32;
  second.peak = 240;
  second.peak_safe = 272;

  b.plan.prev = grid(/*pp=*/2, /*tp=*/1, /*dp=*/2);
  b.plan.curr = grid(/*pp=*/1, /*tp=*/2, /*dp=*/2);
  b.plan.nodes = {2, 2};
  b.plan.participants = b.plan.prev_placement = {0, 1, 2, 3};
  b.plan.curr_placement = {0, 2, 1, 3};
  b.forecast(2 * (16 + 32), 32);
  b.forecast(2 * 32, 32);
  b.plan.summary = std::make_unique<fb::SummaryT>();
  fb::SummaryT &summary = *b.plan.summary;
  summary.moved_bytes = summary.internode_bytes = 160;
  summary.kept_bytes = 2 * (24 + 16 + 16 + 16 + 32);
  summary.zeroed_bytes = 2 * (8 + 8);
  summary.max_send_bytes = summary.max_recv_bytes = 48;
  return std::move(b.plan);
}

/// twoStagePlan() with its master weights, which are all of round 1, deferred.
/// Before round 1, 120 and 208 bytes are there; afterwards 24 and 36
/// parameters.
inline fb::PlanT deferredPlan() {
  fb::PlanT plan = twoStagePlan();
  plan.tensors[2]->deferred = true;
  plan.deferred_rounds = 1;
  plan.gradient_bytes = 4;
  plan.programs[0]->tail_peak = 120 + 32 + 4 * 24;
  plan.programs[0]->tail_peak_safe = plan.programs[0]->peak_safe + 4 * 24;
  plan.programs[1]->tail_peak = 208 + 32 + 4 * 36;
  plan.programs[1]->tail_peak_safe = plan.programs[1]->peak_safe + 4 * 36;
  return plan;
}

inline std::unique_ptr<fb::CertificateT>
certificate(fb::Quantity quantity, std::vector<uint64_t> rows,
            std::vector<uint64_t> columns, uint64_t bound) {
  auto entry = std::make_unique<fb::CertificateT>();
  entry->quantity = quantity;
  entry->row_duals = std::move(rows);
  entry->column_duals = std::move(columns);
  entry->bound = bound;
  return entry;
}

/// twoStagePlan() with its certificates. By role and previous role, 40 64 / 48
/// 64 bytes are in common, and each node has one previous role. Two replicas
/// keep at most 2 * (64 + 48) of 368 bytes.
inline fb::PlanT certifiedPlan() {
  fb::PlanT plan = twoStagePlan();
  for (fb::Quantity quantity :
       {fb::Quantity::moved_bytes, fb::Quantity::internode_bytes})
    plan.certificates.push_back(
        certificate(quantity, {48, 48}, {0, 16}, /*bound=*/144));
  plan.certificates[0]->covers_relays = true;
  plan.summary->bound_moved_bytes = plan.summary->bound_internode_bytes = 144;
  plan.summary->bound_bottleneck_bytes = 36;
  return plan;
}

/// Device 0 leaves; device 1 takes its master weights and relays them to device
/// 2, which derives the parameter.
inline fb::PlanT relayPlan() {
  PlanBuilder b;
  uint32_t master = b.tensor("w", "master", fb::DType::fp32, {8});
  uint32_t param = b.tensor("w", "param", fb::DType::bf16, {8});
  b.plan.tensors[param]->derived_from = master;
  uint32_t all = b.box({{0, 8}});
  uint32_t wholeMaster = b.shard(master, {{{0, 8}}});
  uint32_t wholeParam = b.shard(param, {{{0, 8}}});

  fb::ProgramT &leaver =
      b.program(std::nullopt, fb::Role(0, 0, -1), {0}, {{1}});
  leaver.prev_shards = {wholeMaster, wholeParam};
  b.round(leaver,
          {send(0, master, master, all), release(master), release(param)});
  leaver.send_slab = 32;
  leaver.peak = leaver.peak_safe = 32 + 16 + 32;

  fb::ProgramT &middle =
      b.program(fb::Role(0, 0, -1), std::nullopt, {1}, {{0}, {2}});
  middle.curr_shards = {wholeMaster};
  b.round(middle, {recv(0, master, master, all)});
  b.round(middle, {relay(1, master, all)});
  middle.send_slab = middle.recv_slab = 32;
  middle.peak = middle.peak_safe = 32 + 32 + 32;

  fb::ProgramT &last = b.program(fb::Role(1, 0, -1), std::nullopt, {2}, {{1}});
  last.curr_shards = {wholeMaster, wholeParam};
  b.round(last, {});
  b.round(last, {recv(0, master, master, all)});
  b.round(last, {derive(param, master, all)});
  last.recv_slab = 32;
  last.peak = last.peak_safe = 32 + 32 + 16;

  b.plan.prev = grid(1, 1, 1);
  b.plan.curr = grid(/*pp=*/2, 1, 1);
  b.plan.nodes = {3};
  b.plan.participants = {0, 1, 2};
  b.plan.prev_placement = {0};
  b.plan.curr_placement = {1, 2};
  b.forecast(32, 32);
  b.forecast(32, 32);
  b.forecast(0, 0);
  b.plan.summary = std::make_unique<fb::SummaryT>();
  b.plan.summary->moved_bytes = 64;
  b.plan.summary->derived_bytes = 16;
  b.plan.summary->max_send_bytes = b.plan.summary->max_recv_bytes = 32;
  return std::move(b.plan);
}

/// relayPlan() with its certificates. The one device that has 32 bytes of
/// either role may take none; its node has the bytes, but not twice.
inline fb::PlanT certifiedRelayPlan() {
  fb::PlanT plan = relayPlan();
  plan.barred = {0};
  plan.tensors[1]->is_derived = true;
  plan.certificates.push_back(
      certificate(fb::Quantity::moved_bytes, {0, 0}, {32}, /*bound=*/64));
  plan.certificates.push_back(
      certificate(fb::Quantity::internode_bytes, {32, 32}, {0}, /*bound=*/0));
  for (auto &entry : plan.certificates)
    entry->covers_relays = entry->covers_twins = entry->covers_recomputation =
        true;
  plan.summary->bound_moved_bytes = 64;
  plan.summary->bound_bottleneck_bytes = 32;
  return plan;
}

/// Device 0 leaves. Device 1 passes half of its weights on to device 2, which
/// needs all of them, and keeps nothing.
inline fb::PlanT transitPlan() {
  PlanBuilder b;
  uint32_t w = b.tensor("w", "param", fb::DType::fp32, {8});
  uint32_t low = b.box({{0, 4}}), high = b.box({{4, 8}});
  uint32_t whole = b.shard(w, {{{0, 8}}});
  uint32_t other = b.tensor("v", "param", fb::DType::fp32, {2});
  uint32_t wholeOther = b.shard(other, {{{0, 2}}});
  uint32_t all = b.box({{0, 2}});

  fb::ProgramT &leaver =
      b.program(std::nullopt, fb::Role(0, 0, -1), {0}, {{1}, {2}});
  leaver.prev_shards = {whole};
  b.round(leaver, {send(0, w, w, high), send(1, w, w, low), release(w)});
  leaver.send_slab = 32;
  leaver.peak = leaver.peak_safe = 32 + 32;

  fb::ProgramT &middle =
      b.program(fb::Role(0, 0, -1), fb::Role(1, 0, -1), {1}, {{0}, {2}});
  middle.prev_shards = middle.curr_shards = {wholeOther};
  middle.transit_shards = {b.shard(w, {{{4, 8}}})};
  b.round(middle, {inTransit(recv(0, w, w, high)), refer(other, all)});
  b.round(middle, {inTransit(send(1, w, w, high)), inTransit(release(w))});
  middle.send_slab = middle.recv_slab = 16;
  middle.peak = middle.peak_safe = 8 + 16 + 32;

  fb::ProgramT &last =
      b.program(fb::Role(1, 0, -1), std::nullopt, {2}, {{0}, {1}});
  last.curr_shards = {whole};
  b.round(last, {recv(0, w, w, low)});
  b.round(last, {recv(1, w, w, high)});
  last.recv_slab = 16;
  last.peak = last.peak_safe = 32 + 16;

  b.plan.features = kTransitFeature;
  b.plan.prev = grid(/*pp=*/2, 1, 1);
  b.plan.curr = grid(/*pp=*/2, 1, 1);
  b.plan.nodes = {2, 1};
  b.plan.participants = {0, 1, 2};
  b.plan.prev_placement = {0, 1};
  b.plan.curr_placement = {1, 2};
  b.forecast(32, 32);
  b.forecast(16, 16);
  b.plan.summary = std::make_unique<fb::SummaryT>();
  b.plan.summary->moved_bytes = 48;
  b.plan.summary->transit_bytes = 16;
  b.plan.summary->internode_bytes = 32;
  b.plan.summary->kept_bytes = 8;
  b.plan.summary->max_send_bytes = b.plan.summary->max_recv_bytes = 32;
  return std::move(b.plan);
}

/// The first programs with the slabs of two rounds and, in eager mode, `room`
/// above the peak: with any, no reader approves the plan.
inline fb::PlanT roomy(fb::PlanT plan, size_t programs = ~size_t{0},
                       uint64_t room = 1 << 20) {
  for (auto &program : plan.programs) {
    if (programs-- == 0)
      break;
    const uint64_t slabs = program->send_slab + program->recv_slab;
    program->send_slab = (program->send_slab + 255) / 256 * 512;
    program->recv_slab = (program->recv_slab + 255) / 256 * 512;
    const uint64_t added = program->send_slab + program->recv_slab - slabs;
    program->peak += added + room;
    program->peak_safe += added;
  }
  return plan;
}

/// What a reader of the plan says: the format's checks, then the referee's. ""
/// is approval.
inline std::string judge(fb::PlanT plan) {
  std::vector<uint8_t> bytes = packPlan(std::move(plan));
  if (Status s = checkPlanBytes(bytes); !s.ok())
    return s.message();
  return checkPlan(*fb::GetPlan(bytes.data())).message();
}

} // namespace etc::plan::test

#endif // ETC_TEST_PLANFIXTURE_H
