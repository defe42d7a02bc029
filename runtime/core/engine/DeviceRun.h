// One device from its previous to its current state: fill, migrate, verify.

#ifndef ETC_RUNTIME_CORE_ENGINE_DEVICERUN_H
#define ETC_RUNTIME_CORE_ENGINE_DEVICERUN_H

#include "core/device/Worker.h"
#include "core/engine/Arrivals.h"
#include "core/engine/RoundExecutor.h"
#include "core/engine/StateSink.h"
#include "core/transport/Collectives.h"

#include <functional>
#include <memory>

namespace etc::runtime {

struct RunOptions {
  /// The longest wait for a peer: in a round, in the commit.
  Milliseconds timeout{};
  /// How much longer than that a peer may take to have its previous state.
  Milliseconds fillTime{};
  /// When prepare() has to be over; unset: `timeout` after it began.
  std::optional<Deadline> prepareBy = {};
  Verify verify = Verify::Full;
  /// Measure first how fast bare messages of the same bytes are.
  bool ceiling = false;
  Mode mode = Mode::Eager;
  /// A round may take its predicted bytes over this rate longer than
  /// `timeout`; in bytes a second.
  uint64_t floorRate = 100'000'000;
  Keeping keeping = {};
  /// Counts along, unless null; not owned.
  Progress *progress = nullptr;
  /// Logs every step, unless null; not owned.
  TraceLog *trace = nullptr;
  /// Takes the current state, unless null; of host memory only. Not owned.
  const StateSink *sink = nullptr;
  /// Not owned, may be null.
  Observer *observer = nullptr;
  /// Bytes a second that this device sends at most in deferred rounds, until
  /// hurry(); 0: no limit.
  uint64_t tailRate = 0;
  /// The slowest such limit of all participants. What a deferred round takes at
  /// that rate comes on top of what it may take.
  uint64_t slowestTail = 0;
  /// Carries deferred rounds, so that nothing that the device does there waits
  /// for a peer. What they write gets its memory before the pause is over.
  /// Null: the same transport as all. Not owned.
  Transport *tail = nullptr;
  /// Puts something between a device and its transport; may be empty.
  std::function<std::unique_ptr<Transport>(Transport &, uint32_t device)> wrap =
      {};
};

/// What one device did. Plain data, which travels between processes as it is.
struct DeviceReport {
  uint32_t device = 0;
  uint32_t verified = 0; // 1 where every element was right
  uint64_t sentBytes = 0;
  uint64_t receivedBytes = 0;
  uint64_t internodeBytes = 0; // of those received
  uint64_t restoredBytes = 0;  // of the previous state, from a checkpoint
  double prepareSeconds = 0;   // memory, staging and connections
  double seconds = 0; // from the first round's start to the last one's end
  double pauseSeconds =
      0;            // of these, until no round was left but deferred ones
  RoundTimes times; // what these were spent on
  double verifySeconds = 0;
  double ceilingSeconds = 0;   // of bare messages, where they were measured
  uint64_t peakBytes = 0;      // the most that was live, staging included
  uint64_t provedBytes = 0;    // what the plan states for it
  uint64_t stateBytes = 0;     // max(prev, curr)
  uint64_t slabBytes = 0;      // of staging, as far as the transport needs it
  uint64_t heldBytes = 0;      // what the allocator held of pages, at the most
  uint64_t transportBytes = 0; // what the transport took of device memory
};

/// Runs one participant; docs/reliability.md numbers what it promises. After an
/// error it has to live until no peer reads its memory any more.
class DeviceRun {
public:
  DeviceRun(const PlanIndex &index, uint32_t rank, Control &control,
            Transport &transport, Worker &worker, RunOptions options);
  ~DeviceRun();

  /// Fills the previous state, or takes up what an earlier process left, and
  /// makes staging, memory and connections ready: what can be done while the
  /// previous configuration still trains.
  Status prepare();

  /// Waits for all others to be prepared, executes all rounds, and commits:
  /// what the next three do. The caller aborts control and transport after an
  /// error, of prepare() too. Errors name device and round.
  Status migrate();

  /// The rounds that are not deferred. Where some are, returns when all devices
  /// have ended theirs.
  Status runPause();
  /// The others. Any thread may call it, after runPause(). Messages give way to
  /// others of this host.
  Status runTail();
  /// From here on they don't: somebody waits. Any thread may call it.
  void hurry();
  /// The commit, for which all have to call it.
  Status finish();

  /// After an error, when the others have been told: ends what is under way,
  /// and gives up staging. False where it did not end in time: the device may
  /// still write to its memory.
  bool stop();
  /// After stop(): memory in which nothing has landed goes, too.
  void releaseAllBut(std::span<const HeldShard> held) {
    state.releaseAllBut(held);
  }
  /// Whether it has ended since. Any thread may ask.
  bool hasStopped() const;

  /// Checks every element of the current state after migrate(), where the
  /// options say so. The error is of kind Verification.
  Status verify();

  /// Hands the current state over after migrate(), where the options say so.
  Status write();

  const DeviceReport &report() const { return result; }

  /// Which current tensors are there. Any thread may ask.
  Arrivals &arrivals() { return arrivals_; }

  /// How far it is, and the memory of what it holds; between calls of the
  /// others.
  const Standing &reached() const { return journal.standing(); }
  const DeviceState &tensors() const { return state; }

private:
  Status makeReady();
  Status measureBareMessages();
  Status prepareState();
  Status fillPrev();
  Status allocateSlabs();
  Status allocateAhead();
  Status allocateFor(uint32_t round);
  Status allocateTail();
  void noteSizes();
  uint64_t provedPeak() const;
  void countRounds();
  Status connectPeers(const Deadline &deadline);
  Status reserveMoves();
  Status runRounds(uint32_t end);
  Status commit();
  Milliseconds roundTimeout(uint32_t round) const;
  void enter(Phase phase, uint32_t round) const;
  Status conclude(const Status &status);

  const PlanIndex &index;
  const RankAndCount self;
  const uint32_t program;
  const RunOptions options;
  Control &control;
  const std::unique_ptr<Transport> wrapped;
  Transport &transport;
  Worker &worker;
  DeviceState state;
  RoundExecutor executor;
  Transport &tail;                           // of deferred rounds
  std::optional<RoundExecutor> tailExecutor; // where that is another one
  Arrivals arrivals_;
  std::atomic<bool> isUrgent{false}; // since hurry()
  Journal journal;
  Standing standing; // where this run began
  uint32_t next = 0; // round
  Buffer sendSlab, recvSlab;
  DeviceReport result;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_DEVICERUN_H
