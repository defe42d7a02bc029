// Executes the rounds of one device's program.

#ifndef ETC_RUNTIME_ENGINE_ROUNDEXECUTOR_H
#define ETC_RUNTIME_ENGINE_ROUNDEXECUTOR_H

#include "engine/DeviceState.h"
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

/// Runs rounds in order. In each it allocates the current tensors that are
/// first written, packs and posts messages, copies what stays, unpacks what
/// arrives, acknowledges, and releases only when every peer has confirmed.
class RoundExecutor {
public:
  RoundExecutor(const PlanIndex &index, uint32_t rank, Transport &transport);

  /// The error is of kind Peer, Usage (memory) or Verification (a message
  /// arrived damaged).
  Status run(uint32_t round, DeviceState &state, Slabs slabs,
             Milliseconds timeout);

  uint64_t sentBytes() const { return sent; }
  uint64_t receivedBytes() const { return received; }

private:
  using Ops = flatbuffers::Vector<const plan::fb::Op *>;

  void layOut(const Ops &ops, Slabs slabs);
  Status allocate(const Ops &ops, DeviceState &state);
  void pack(const Ops &ops, const DeviceState &state);
  void copyLocally(const Ops &ops, DeviceState &state);
  void unpack(const Ops &ops, DeviceState &state);
  Status acknowledge(Milliseconds timeout);
  void release(const Ops &ops, DeviceState &state);

  uint32_t rankOfSlot(uint32_t slot) const;

  const PlanIndex &index;
  const plan::Place place;
  Transport &transport;

  /// Of the current round. Positions are those in the lists, by peer slot;
  /// kNone where there is no message.
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  std::vector<std::byte *> packed;
  std::vector<uint32_t> outgoingOfSlot, incomingOfSlot;

  uint64_t sent = 0, received = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_ENGINE_ROUNDEXECUTOR_H
