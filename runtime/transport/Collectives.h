// What all participants do together, over any transport.

#ifndef ETC_RUNTIME_TRANSPORT_COLLECTIVES_H
#define ETC_RUNTIME_TRANSPORT_COLLECTIVES_H

#include "transport/Transport.h"

#include <functional>

namespace etc::runtime {

/// A participant's place among all of them.
struct Member {
  uint32_t rank;
  uint32_t count;
};

/// Returns when every participant has called it. `decide`, if given, is called
/// by rank 0 when all others are there and before any of them goes on; after an
/// error of it none does.
Status barrier(Transport &transport, Member self, Milliseconds timeout,
               const std::function<Status()> &decide = {});

/// Collects equally long records at rank 0: `all` holds those of all ranks in
/// order there, and is empty elsewhere.
Status gather(Transport &transport, Member self,
              std::span<const std::byte> mine, std::span<std::byte> all,
              Milliseconds timeout);

} // namespace etc::runtime

#endif // ETC_RUNTIME_TRANSPORT_COLLECTIVES_H
