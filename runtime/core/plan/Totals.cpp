#include "core/plan/Totals.h"

#include "core/plan/RefereeRules.h"

#include <algorithm>

using namespace etc::plan;

Totals::Totals(const PlanIndex &index, std::span<const uint64_t> copies)
    : rounds(index.plan().forecast()->size()) {
  for (uint32_t p = 0; p != index.programCount(); ++p)
    addProgram(index, p, copies);
}

uint64_t *Totals::localTotal(fb::OpKind kind) {
  switch (kind) {
  case fb::OpKind::refer:
    return &kept;
  case fb::OpKind::zero:
    return &zeroed;
  case fb::OpKind::derive:
    return &derived;
  default:
    return nullptr;
  }
}

void Totals::addProgram(const PlanIndex &index, uint32_t p,
                        std::span<const uint64_t> copies) {
  const fb::Program &program = index.program(p);
  auto copiesOf = [&](uint32_t device) -> uint64_t {
    return copies.empty() ? 1 : copies[*index.rankOf(device)];
  };
  uint64_t replicas = 0;
  for (uint32_t device : *program.devices())
    replicas += copiesOf(device);
  std::vector<uint64_t> fromSlot(program.peers()->size());
  uint64_t sent = 0, received = 0;
  for (uint32_t r = 0; r != roundsOf(index, p); ++r) {
    uint64_t sentNow = 0, receivedNow = 0;
    for (const fb::Op *op : opsOf(index, p, r)) {
      if (op->kind() == fb::OpKind::release)
        continue;
      const uint64_t bytes = index.opBytes(*op);
      if (op->kind() == fb::OpKind::send)
        sentNow += bytes;
      if (op->kind() == fb::OpKind::recv) {
        receivedNow += bytes;
        fromSlot[op->peer()] += bytes;
        transit += op->transit() ? replicas * bytes : 0;
      }
      if (uint64_t *local = localTotal(op->kind()))
        *local += replicas * bytes;
    }
    rounds[r].moved += replicas * receivedNow;
    rounds[r].busiest = std::max({rounds[r].busiest, sentNow, receivedNow});
    sent += sentNow;
    received += receivedNow;
  }
  moved += replicas * received;
  maxSend = std::max(maxSend, sent);
  maxRecv = std::max(maxRecv, received);
  for (Holding holding : index.holdings(p, Side::Curr))
    held += replicas * index.shardBytes(holding.shard);
  for (uint32_t i = 0; i != program.devices()->size(); ++i) {
    const uint32_t device = program.devices()->Get(i),
                   node = index.nodeOf(device);
    for (uint32_t s = 0; s != fromSlot.size(); ++s)
      if (index.nodeOf(program.peers()->Get(s)->devices()->Get(i)) != node)
        internode += copiesOf(device) * fromSlot[s];
  }
}
