// Executes the rounds of one device's program.

#ifndef ETC_RUNTIME_ENGINE_ROUNDEXECUTOR_H
#define ETC_RUNTIME_ENGINE_ROUNDEXECUTOR_H

#include "device/Worker.h"
#include "engine/Observer.h"
#include "engine/RoundMessages.h"
#include "engine/Trace.h"
#include "transport/Collectives.h"

#include <atomic>
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
  double acknowledge = 0; // and what is noted before and after
};

/// What is compared.
enum class Verify {
  Off,
  Checksum, ///< every message with its sender's hash
  Full,     ///< and in the end every element with the formula
};

/// What a round works on and tells.
struct RoundContext {
  DeviceState &state;
  Slabs slabs;
  Journal &journal;
  const Keeping &keeping;
  Mode mode;
  Observer *observer; // not owned, null where nobody asks
  TraceLog *trace;    // likewise
};

/// Runs rounds in order. In each it allocates the current tensors that are
/// first written, packs and posts messages, copies what stays, unpacks what
/// arrives and compares it with the hash that the sender tells over control,
/// unless it is not to, notes
/// that the round has landed, tells the senders, and releases only when every
/// receiver has confirmed. A round that an earlier process began is completed:
/// what landed then is not sent again.
class RoundExecutor {
public:
  RoundExecutor(const PlanIndex &index, uint32_t rank, Control &control,
                Transport &transport, Worker &worker, Verify verify);

  /// The error is of kind Peer (a message that is late, lost or damaged), Usage
  /// (memory, the journal) or Verification (a peer has sent something else).
  Status run(uint32_t round, const RoundContext &context,
             const Deadline &deadline);

  uint64_t sentBytes() const { return sent; }
  uint64_t receivedBytes() const { return received; }
  /// Of the bytes received, those from another node.
  uint64_t internodeBytes() const { return internode; }
  const RoundTimes &times() const { return spent; }

private:
  using Ops = flatbuffers::Vector<const plan::fb::Op *>;

  template <typename Step>
  Status timed(const char *name, TraceLog *trace, double &seconds, Step step);
  Status pack(const Ops &ops, const RoundContext &context);
  Status tellHashes();
  Status hearHashes(const Deadline &deadline);
  Status fillPiece(PieceMoves::Position at);
  Status takePiece(PieceMoves::Position at);
  Status allocate(const Ops &ops, DeviceState &state);
  Status copyLocally(const Ops &ops, DeviceState &state);
  Status unpack(DeviceState &state, const Deadline &deadline);
  Status land(const RoundContext &context);
  Status acknowledge(const Deadline &deadline);
  Status release(const Ops &ops, const RoundContext &context);
  void countBytes();

  /// Names the transfer that an error of the transport is about.
  Status explain(const Status &error, std::optional<uint32_t> culprit,
                 plan::fb::OpKind kind) const;
  Status blame(uint32_t peer, plan::fb::OpKind kind, const char *what) const;

  const PlanIndex &index;
  const uint32_t rank;
  const plan::Participant participant;
  Control &control;
  Transport &transport;
  Worker &worker;
  const bool goesByPiece; // see Transport::pieceBytes()
  const bool isHashed;
  RoundMessages messages;

  uint32_t round = 0;
  bool hasLanded = false; // the round, before this process
  std::vector<uint64_t> sentHashes, receivedHashes; // of the round's messages
  double fillSeconds = 0, takeSeconds = 0; // for their pieces, under way

  uint64_t sent = 0, received = 0, internode = 0;
  RoundTimes spent;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_ENGINE_ROUNDEXECUTOR_H
