// Executes the rounds of one device's program.

#ifndef ETC_RUNTIME_CORE_ENGINE_ROUNDEXECUTOR_H
#define ETC_RUNTIME_CORE_ENGINE_ROUNDEXECUTOR_H

#include "core/device/Worker.h"
#include "core/engine/Observer.h"
#include "core/engine/RoundMemory.h"
#include "core/engine/RoundMessages.h"
#include "core/engine/RoundOverlap.h"
#include "core/engine/Trace.h"
#include "core/transport/Collectives.h"

#include <array>
#include <atomic>
#include <optional>
#include <vector>

namespace etc::runtime {

/// What all devices of a process, or of a shared memory, have done so far.
struct Progress {
  std::atomic<uint64_t> receivedBytes{0};
  std::atomic<uint64_t> finishedRounds{0}; // summed over devices
};

/// Where the host's time of the rounds went, in seconds. Where rounds overlap,
/// these only begin what the device does then; `wait` includes it.
struct RoundTimes {
  double pack = 0;
  double copy = 0; // what stays, while messages travel
  double wait = 0; // for messages
  double unpack = 0;
  double acknowledge = 0; // and what is noted before and after

  RoundTimes &operator+=(const RoundTimes &more) {
    pack += more.pack, copy += more.copy, wait += more.wait;
    unpack += more.unpack, acknowledge += more.acknowledge;
    return *this;
  }
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
///
/// On a GPU the next round is packed and posted before one waits for this one,
/// where RoundOverlap allows it: then its messages are on their way while these
/// are unpacked and acknowledged.
class RoundExecutor {
public:
  RoundExecutor(const PlanIndex &index, uint32_t rank, Control &control,
                Transport &transport, Worker &worker, Verify verify, Mode mode);

  /// Whether `round` may begin before the one before it has ended.
  bool mayBeginEarly(uint32_t round) const {
    return overlap && overlap->mayBeginEarly(round);
  }

  /// What rounds from `first` on do with memory, and nothing else.
  Status rehearse(uint32_t first, Mode mode, DeviceState &state) const;

  /// Packs and posts. The error is of kind Peer (a message that is late, lost
  /// or damaged), Usage (memory, the journal) or Verification (a peer has sent
  /// something else).
  Status begin(uint32_t round, const RoundContext &context);
  /// All else, in the order of rounds.
  Status end(uint32_t round, const RoundContext &context,
             const Deadline &deadline);

  uint64_t sentBytes() const { return sent; }
  uint64_t receivedBytes() const { return received; }
  /// Of the bytes received, those from another node.
  uint64_t internodeBytes() const { return internode; }
  const RoundTimes &times() const { return spent; }

private:
  using Ops = flatbuffers::Vector<const plan::fb::Op *>;

  /// A round from its beginning to its end.
  struct Round {
    explicit Round(RoundMessages messages) : messages(std::move(messages)) {}

    uint32_t number = 0;
    const Ops *ops = nullptr;
    bool hasLanded = false; // before this process
    RoundMessages messages;
    std::vector<uint64_t> sentHashes, receivedHashes; // of its messages
    Job pack, beside, unpack;                         // the wire
    DevicePoint arrival;
    bool isUnderWay = false, isUnpacked = false;
    double fillSeconds = 0, takeSeconds = 0; // for pieces, under way
  };

  /// Whether a round has begun and not ended.
  bool isUnderWay() const {
    return rounds[0].isUnderWay || rounds[1].isUnderWay;
  }
  template <typename Step>
  Status timed(const char *name, const Round &round,
               const RoundContext &context, double &seconds, Step step);
  void enter(const RoundContext &context, const Round &round,
             Phase phase) const;
  Status pack(Round &round, const RoundContext &context, DevicePoint after);
  Status tellHashes(const Round &round);
  Status hearHashes(const Round &round, const Deadline &deadline);
  Status fillPiece(Round &round, PieceMoves::Position at);
  Status takePiece(Round &round, PieceMoves::Position at);
  Status beginUnpack(Round &round);
  Status post(Round &round, const Round *source);
  Status workBeside(Round &round, DeviceState &state, DevicePoint after);
  Status await(Round &round, const Deadline &deadline);
  Status finishSends(Round &round);
  Status unpack(Round &round, DeviceState &state, const Deadline &deadline);
  Status land(const Round &round, const RoundContext &context);
  Status acknowledge(const Round &round, const Deadline &deadline);
  Status release(const Round &round, const RoundContext &context);
  void countBytes(const Round &round);

  /// Names the transfer that an error of the transport is about.
  Status explain(const Status &error, std::optional<uint32_t> culprit,
                 plan::fb::OpKind kind, const Round &round) const;
  Status blame(uint32_t peer, plan::fb::OpKind kind, const char *what,
               const Round &round) const;

  const PlanIndex &index;
  const uint32_t rank;
  const plan::Participant participant;
  Control &control;
  Transport &transport;
  Worker &worker;
  const bool goesByPiece; // see Transport::pieceBytes()
  const bool isHashed;
  std::optional<Staging> staging;      // unless memory is shared
  std::optional<RoundOverlap> overlap; // where two groups can be under way
  std::array<Round, 2> rounds;         // taken in turn

  uint64_t sent = 0, received = 0, internode = 0;
  RoundTimes spent;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_ROUNDEXECUTOR_H
