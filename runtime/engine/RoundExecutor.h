// Executes the rounds of one device's program.

#ifndef ETC_RUNTIME_ENGINE_ROUNDEXECUTOR_H
#define ETC_RUNTIME_ENGINE_ROUNDEXECUTOR_H

#include "engine/DeviceState.h"
#include "engine/Keeping.h"
#include "engine/Observer.h"
#include "transport/Transport.h"

#include <atomic>
#include <span>
#include <vector>

namespace etc::runtime {

/// What all devices of a process, or of a shared memory, have done so far.
struct Progress {
  std::atomic<uint64_t> receivedBytes{0};
  std::atomic<uint64_t> finishedRounds{0}; // summed over devices
};

/// Staging memory of a device, as large as its program states.
struct Slabs {
  std::span<std::byte> send, recv;
};

/// What a round works on and tells.
struct RoundContext {
  DeviceState &state;
  Slabs slabs;
  Journal &journal;
  const Keeping &keeping;
  Mode mode;
  Observer *observer; // not owned, null where nobody asks
};

/// Runs rounds in order. In each it allocates the current tensors that are
/// first written, packs and posts messages, copies what stays, compares what
/// arrived with its hash, unpacks it, notes that the round has landed, tells
/// the senders, and releases only when every receiver has confirmed. A round
/// that an earlier process began is completed: what landed then is not sent
/// again.
class RoundExecutor {
public:
  RoundExecutor(const PlanIndex &index, uint32_t rank, Transport &transport);

  /// The error is of kind Peer (a message that is late, lost or damaged) or
  /// Usage (memory, the journal).
  Status run(uint32_t round, const RoundContext &context, Milliseconds timeout);

  uint64_t sentBytes() const { return sent; }
  uint64_t receivedBytes() const { return received; }

private:
  using Ops = flatbuffers::Vector<const plan::fb::Op *>;

  void layOut(const Ops &ops, const RoundContext &context);
  Status allocate(const Ops &ops, DeviceState &state);
  void pack(const Ops &ops, const DeviceState &state);
  void copyLocally(const Ops &ops, DeviceState &state);
  Status checkHashes(Milliseconds timeout);
  void unpack(const Ops &ops, DeviceState &state);
  Status land(const RoundContext &context);
  Status acknowledge(Milliseconds timeout);
  Status release(const Ops &ops, const RoundContext &context);

  /// Names the transfer that an error of the transport is about.
  Status explain(const Status &error, plan::fb::OpKind kind) const;
  uint32_t rankOfSlot(uint32_t slot) const;

  const PlanIndex &index;
  const uint32_t rank;
  const plan::Place place;
  Transport &transport;

  uint32_t round = 0;
  bool hasLanded = false; // the round, before this process

  /// Of the current round. Positions are those in the lists, by peer slot;
  /// kNone where there is no message.
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  std::vector<std::byte *> packed;
  std::vector<uint32_t> outgoingOfSlot, incomingOfSlot;
  std::vector<uint64_t> sentHashes, receivedHashes; // of the messages

  uint64_t sent = 0, received = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_ENGINE_ROUNDEXECUTOR_H
