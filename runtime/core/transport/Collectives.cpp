#include "core/transport/Collectives.h"

#include <algorithm>

using namespace etc::runtime;

/// Rank 0 is the first to be late: it knows for whom it waits, and tells all.
constexpr Milliseconds kGrace{2000};

/// Rank 0 hears from all.
static Status arrive(Control &control, RankAndCount self,
                     const Deadline &deadline) {
  if (self.rank != 0)
    return control.send(0, {});
  for (uint32_t rank = 1; rank != self.count; ++rank)
    if (Status s = control.receive(rank, {}, deadline); !s.ok())
      return s;
  return Status::success();
}

Status etc::runtime::barrier(Control &control, RankAndCount self,
                             const Deadline &deadline) {
  if (Status s = arrive(control, self, deadline); !s.ok())
    return s;
  if (self.rank != 0)
    return control.receive(0, {}, deadline.later(kGrace));
  for (uint32_t rank = 1; rank != self.count; ++rank)
    if (Status s = control.send(rank, {}); !s.ok())
      return s;
  return Status::success();
}

Status etc::runtime::decideTogether(Control &control, RankAndCount self,
                                    const Deadline &deadline,
                                    const std::function<Status()> &decide) {
  if (self.rank != 0)
    return control.awaitDecision(deadline.later(kGrace));
  if (Status s = arrive(control, self, deadline); !s.ok())
    return s;
  return control.decide(decide);
}

Status etc::runtime::gather(Control &control, RankAndCount self,
                            std::span<const std::byte> mine,
                            std::span<std::byte> all,
                            const Deadline &deadline) {
  if (self.rank != 0) {
    if (Status s = control.send(0, mine); !s.ok())
      return s;
    return barrier(control, self, deadline);
  }
  std::copy(mine.begin(), mine.end(), all.begin());
  for (uint32_t rank = 1; rank != self.count; ++rank)
    if (Status s = control.receive(
            rank, all.subspan(rank * mine.size(), mine.size()), deadline);
        !s.ok())
      return s;
  // Nobody's record goes away before rank 0 has it.
  return barrier(control, self, deadline);
}

Status etc::runtime::sendHashes(Control &control,
                                std::span<const PeerHash> hashes) {
  for (const PeerHash &entry : hashes)
    if (Status s =
            control.send(entry.peer, std::as_bytes(std::span(&entry.hash, 1)));
        !s.ok())
      return s;
  return Status::success();
}

Status etc::runtime::receiveHashes(Control &control, std::span<PeerHash> hashes,
                                   const Deadline &deadline) {
  for (PeerHash &entry : hashes)
    if (Status s = control.receive(
            entry.peer, std::as_writable_bytes(std::span(&entry.hash, 1)),
            deadline);
        !s.ok())
      return s;
  return Status::success();
}
