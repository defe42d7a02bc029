#include "transport/Collectives.h"

#include <algorithm>
#include <vector>

using namespace etc::runtime;

Status etc::runtime::barrier(Transport &transport, Member self,
                             Milliseconds timeout,
                             const std::function<Status()> &decide) {
  // Rank 0 hears from all, then answers all.
  std::vector<Acknowledgement> peers;
  if (self.rank != 0)
    peers.push_back({0, 0});
  else
    for (uint32_t rank = 1; rank != self.count; ++rank)
      peers.push_back({rank, 0});
  std::vector<Acknowledgement> heard = peers;
  if (self.rank != 0)
    return transport.acknowledge(peers, heard, timeout);
  if (Status s = transport.acknowledge({}, heard, timeout); !s.ok())
    return s;
  if (Status s = decide ? decide() : Status::success(); !s.ok())
    return s;
  return transport.acknowledge(peers, {}, timeout);
}

Status etc::runtime::gather(Transport &transport, Member self,
                            std::span<const std::byte> mine,
                            std::span<std::byte> all, Milliseconds timeout) {
  std::vector<WritableBytes> places;
  for (uint32_t rank = 1; self.rank == 0 && rank != self.count; ++rank)
    places.push_back(all.subspan(rank * mine.size(), mine.size()));
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  if (self.rank != 0)
    outgoing.push_back({0, mine.size(), {&mine, 1}, {}});
  for (uint32_t i = 0; i != places.size(); ++i)
    incoming.push_back({i + 1, mine.size(), {&places[i], 1}, {}});
  if (Status s = transport.post(outgoing, incoming); !s.ok())
    return s;
  if (Status s = transport.wait(timeout); !s.ok())
    return s;
  if (self.rank == 0)
    std::copy(mine.begin(), mine.end(), all.begin());
  // Nobody's record goes away before rank 0 has it.
  return barrier(transport, self, timeout);
}
