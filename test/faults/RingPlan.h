// A plan of any size for tests: every device hands all it has to the next one.

#ifndef ETC_TEST_RINGPLAN_H
#define ETC_TEST_RINGPLAN_H

#include "../unit/Runtime/PlanFixture.h"

namespace etc::plan::test {

/// Device d of n holds `rounds` tensors of `rows` numbers. In round k the k-th
/// of each goes to device d + 1, which sets it up, and then from device d. One
/// more tensor stays where it is, and one of `dropped` numbers goes in round 0.
inline fb::PlanT ringPlan(uint32_t devices, uint32_t rounds, int64_t rows,
                          int64_t dropped = 0) {
  PlanBuilder b;
  const uint64_t bytes = static_cast<uint64_t>(rows) * 4;
  const uint32_t all = b.box({{0, rows}});
  std::vector<std::vector<uint32_t>> tensors(devices), shards(devices);
  uint32_t stays = b.tensor("stays", "param", fb::DType::fp32, {rows});
  uint32_t staysShard = b.shard(stays, {{{0, rows}}});
  uint32_t goes = 0, goesShard = 0;
  if (dropped != 0) {
    goes = b.tensor("goes", "param", fb::DType::fp32, {dropped});
    goesShard = b.shard(goes, {{{0, dropped}}});
  }
  for (uint32_t d = 0; d != devices; ++d)
    for (uint32_t k = 0; k != rounds; ++k) {
      std::string name = text("of", d, ".", k);
      tensors[d].push_back(
          b.tensor(name.c_str(), "master", fb::DType::fp32, {rows}));
      shards[d].push_back(b.shard(tensors[d].back(), {{{0, rows}}}));
    }
  for (uint32_t d = 0; d != devices; ++d) {
    const uint32_t next = (d + 1) % devices, last = (d + devices - 1) % devices;
    fb::ProgramT &program = b.program(fb::Role(d, 0, -1), fb::Role(d, 0, -1),
                                      {d}, {{next}, {last}});
    program.prev_shards = {staysShard};
    program.prev_shards.insert(program.prev_shards.end(), shards[d].begin(),
                               shards[d].end());
    if (dropped != 0)
      program.prev_shards.push_back(goesShard);
    program.curr_shards = {staysShard};
    program.curr_shards.insert(program.curr_shards.end(), shards[last].begin(),
                               shards[last].end());
    for (uint32_t k = 0; k != rounds; ++k) {
      std::vector<fb::Op> ops{send(0, tensors[d][k], tensors[d][k], all),
                              recv(1, tensors[last][k], tensors[last][k], all),
                              release(tensors[d][k])};
      if (k == 0)
        ops.push_back(refer(stays, all));
      if (k == 0 && dropped != 0)
        ops.push_back(release(goes));
      b.round(program, std::move(ops));
    }
    program.send_slab = program.recv_slab = bytes;
    const uint64_t more = static_cast<uint64_t>(dropped) * 4;
    program.peak = (rounds + 4) * bytes + more;
    program.peak_safe = (2 * rounds + 3) * bytes + more;
    b.plan.participants.push_back(d);
  }
  b.plan.prev_placement = b.plan.curr_placement = b.plan.participants;
  b.plan.prev = grid(/*pp=*/devices, 1, 1);
  b.plan.curr = grid(/*pp=*/devices, 1, 1);
  b.plan.nodes = {devices};
  for (uint32_t k = 0; k != rounds; ++k)
    b.forecast(devices * bytes, bytes);
  b.plan.summary = std::make_unique<fb::SummaryT>();
  b.plan.summary->moved_bytes = devices * rounds * bytes;
  b.plan.summary->kept_bytes = devices * bytes;
  b.plan.summary->max_send_bytes = b.plan.summary->max_recv_bytes =
      rounds * bytes;
  return std::move(b.plan);
}

} // namespace etc::plan::test

#endif // ETC_TEST_RINGPLAN_H
