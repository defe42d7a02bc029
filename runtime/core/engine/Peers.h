// With whom a rank exchanges messages.

#ifndef ETC_RUNTIME_CORE_ENGINE_PEERS_H
#define ETC_RUNTIME_CORE_ENGINE_PEERS_H

#include "core/plan/PlanIndex.h"
#include "core/transport/NcclTransport.h"

#include <vector>

namespace etc::runtime {

/// Ranks, ascending.
struct PeerRanks {
  std::vector<uint32_t> targets; // of its sends
  std::vector<uint32_t> sources; // of its receives

  std::vector<uint32_t> all() const;
};

PeerRanks findPeers(const plan::PlanIndex &index, uint32_t rank);

/// Of all ranks; nothing where the plan is a slice.
NodeTraffic trafficOf(const plan::PlanIndex &index);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_PEERS_H
