//===- PortLoads.cpp - What the busiest links of a plan carry -------------===//

#include "etc/Export/PortLoads.h"

#include "core/plan/PlanIndex.h"

#include <algorithm>
#include <vector>

using namespace etc;
namespace fb = etc::plan::fb;

namespace {
/// Bytes of one program to and from one of its peers.
struct PeerBytes {
  uint64_t sent = 0, received = 0;
};
} // namespace

/// The same for every replica of a program, so worked out once.
static std::vector<PeerBytes> peerBytes(const plan::PlanIndex &index,
                                        const fb::Program &program) {
  std::vector<PeerBytes> peers(program.peers()->size());
  for (const fb::Round *round : *program.rounds())
    for (const fb::Op *op : *round->ops()) {
      if (op->kind() == fb::OpKind::send)
        peers[op->peer()].sent += index.opBytes(*op);
      else if (op->kind() == fb::OpKind::recv)
        peers[op->peer()].received += index.opBytes(*op);
    }
  return peers;
}

PortLoads etc::portLoads(const fb::Plan &plan) {
  plan::PlanIndex index(plan);
  PortLoads loads;
  for (const fb::Program *program : *plan.programs()) {
    std::vector<PeerBytes> peers = peerBytes(index, *program);
    for (uint32_t replica = 0; replica < program->devices()->size();
         ++replica) {
      uint32_t node = index.nodeOf(program->devices()->Get(replica));
      PeerBytes far, near;
      for (uint32_t peer = 0; peer < peers.size(); ++peer) {
        uint32_t other = program->peers()->Get(peer)->devices()->Get(replica);
        PeerBytes &side = index.nodeOf(other) == node ? near : far;
        side.sent += peers[peer].sent;
        side.received += peers[peer].received;
      }
      loads.betweenNodes =
          std::max({loads.betweenNodes, far.sent, far.received});
      loads.insideNode = std::max({loads.insideNode, near.sent, near.received});
    }
  }
  return loads;
}
