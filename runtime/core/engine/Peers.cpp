#include "core/engine/Peers.h"

#include <algorithm>
#include <iterator>
#include <set>

using namespace etc::runtime;
using etc::plan::fb::OpKind;

std::vector<uint32_t> PeerRanks::all() const {
  std::vector<uint32_t> peers;
  std::ranges::set_union(targets, sources, std::back_inserter(peers));
  return peers;
}

NodeTraffic etc::runtime::trafficOf(const plan::PlanIndex &index) {
  NodeTraffic traffic{0, true};
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    if (!index.hasProgramOf(rank))
      return {};
    const std::vector<uint32_t> sources = findPeers(index, rank).sources;
    const auto inside = static_cast<uint32_t>(
        std::ranges::count_if(sources, [&](uint32_t source) {
          return index.nodeOf(index.device(source)) ==
                 index.nodeOf(index.device(rank));
        }));
    traffic.sources = std::max(traffic.sources, inside);
    traffic.isAll = traffic.isAll && inside == sources.size();
  }
  return traffic;
}

PeerRanks etc::runtime::findPeers(const plan::PlanIndex &index, uint32_t rank) {
  const plan::Participant participant = index.participant(rank);
  const auto &program = index.program(participant.program);
  std::set<uint32_t> targets, sources;
  for (const auto *round : *program.rounds())
    for (const auto *op : *round->ops()) {
      if (op->kind() != OpKind::send && op->kind() != OpKind::recv)
        continue;
      const auto *devices = program.peers()->Get(op->peer())->devices();
      uint32_t peer = *index.rankOf(devices->Get(participant.replica));
      (op->kind() == OpKind::send ? targets : sources).insert(peer);
    }
  return {{targets.begin(), targets.end()}, {sources.begin(), sources.end()}};
}
