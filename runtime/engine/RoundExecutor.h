// Executes the rounds of one device's program.

#ifndef ETC_RUNTIME_ENGINE_ROUNDEXECUTOR_H
#define ETC_RUNTIME_ENGINE_ROUNDEXECUTOR_H

#include "device/Worker.h"
#include "engine/RoundMessages.h"
#include "engine/Trace.h"

#include <atomic>
#include <span>
#include <vector>

namespace etc::runtime {

/// What all devices of a process, or of a shared memory, have done so far.
struct Progress {
  std::atomic<uint64_t> receivedBytes{0};
  std::atomic<uint64_t> finishedRounds{0}; // summed over devices
};

/// Where the time of the rounds went, in seconds.
struct RoundTimes {
  double pack = 0;
  double copy = 0; // what stays, while messages travel
  double wait = 0; // for messages
  double unpack = 0;
  double acknowledge = 0;
};

/// Runs rounds in order. In each it allocates the current tensors that are
/// first written, packs and posts messages, copies what stays, unpacks what
/// arrives, acknowledges, and releases only when every peer has confirmed.
class RoundExecutor {
public:
  RoundExecutor(const PlanIndex &index, uint32_t rank, Transport &transport,
                Worker &worker);

  /// The error is of kind Peer, Usage (memory) or Verification (a message
  /// arrived damaged).
  Status run(uint32_t round, DeviceState &state, Slabs slabs,
             Milliseconds timeout);

  /// Logs the steps of all rounds from now on; not owned.
  void traceTo(TraceLog *log) { trace = log; }

  uint64_t sentBytes() const { return sent; }
  uint64_t receivedBytes() const { return received; }
  /// Of the bytes received, those from another node.
  uint64_t internodeBytes() const { return internode; }
  const RoundTimes &times() const { return spent; }

private:
  using Ops = flatbuffers::Vector<const plan::fb::Op *>;

  template <typename Step>
  Status timed(const char *name, uint32_t round, double &seconds, Step step);
  Status allocate(const Ops &ops, DeviceState &state);
  Status pack();
  Status copyLocally(const Ops &ops, DeviceState &state);
  Status unpack(const Ops &ops, DeviceState &state);
  Status acknowledge(Milliseconds timeout);
  void release(const Ops &ops, DeviceState &state);
  void countBytes();

  const PlanIndex &index;
  const plan::Place place;
  Transport &transport;

  Worker &worker;
  RoundMessages messages;
  /// Hashes of the current round's messages.
  std::vector<uint64_t> sentHashes, receivedHashes;

  uint64_t sent = 0, received = 0, internode = 0;
  RoundTimes spent;
  TraceLog *trace = nullptr;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_ENGINE_ROUNDEXECUTOR_H
