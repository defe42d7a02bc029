// What all participants, or the two ends of each message, tell each other.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_COLLECTIVES_H
#define ETC_RUNTIME_CORE_TRANSPORT_COLLECTIVES_H

#include "core/transport/Control.h"

#include <functional>

namespace etc::runtime {

/// A participant's place among all of them.
struct RankAndCount {
  uint32_t rank;
  uint32_t count;
};

/// Returns when every participant has called it.
Status barrier(Control &control, RankAndCount self, const Deadline &deadline);

/// A barrier that all leave, or none does. `decide` is called by rank 0 when
/// all others are there; after an error of it none goes on.
Status decideTogether(Control &control, RankAndCount self,
                      const Deadline &deadline,
                      const std::function<Status()> &decide);

/// Collects equally long records at rank 0: `all` holds those of all ranks in
/// order there, and is empty elsewhere.
Status gather(Control &control, RankAndCount self,
              std::span<const std::byte> mine, std::span<std::byte> all,
              const Deadline &deadline);

/// The hash of a message from or to a peer.
struct PeerHash {
  uint32_t peer;
  uint64_t hash;
};

Status sendHashes(Control &control, std::span<const PeerHash> hashes);
/// One from each peer, in this order.
Status receiveHashes(Control &control, std::span<PeerHash> hashes,
                     const Deadline &deadline);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_COLLECTIVES_H
