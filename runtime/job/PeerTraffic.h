// What goes over the connections of control, by whichever thread.

#ifndef ETC_RUNTIME_JOB_PEERTRAFFIC_H
#define ETC_RUNTIME_JOB_PEERTRAFFIC_H

#include "job/PeerControl.h"
#include "job/PeerMeeting.h"
#include "job/Ticker.h"

#include <atomic>
#include <mutex>

namespace etc::runtime {

/// The thread that uses control waits in move(); where the options say so,
/// another one sends signs of life and hears those of the peers, also while the
/// first is elsewhere. A peer that is gone, that gave up or that is silent for
/// too long ends the change for all, whoever notices it.
///
/// Two states are exempt. Who has rank 0's decision is through, and who waits
/// for it cannot go back: that one heeds rank 0 alone. All functions can be
/// called by any thread.
class PeerTraffic {
public:
  /// `wake` is an eventfd.
  PeerTraffic(const PeerControlOptions &options, PeerChannels channels,
              Socket wake);
  /// Says goodbye.
  ~PeerTraffic();
  PeerTraffic(const PeerTraffic &) = delete;
  PeerTraffic &operator=(const PeerTraffic &) = delete;

  Status send(uint32_t peer, std::string_view message);
  bool hasNext(uint32_t peer);
  std::string takeNext(uint32_t peer);
  PeerChannel::End endOf(uint32_t peer);
  /// Waits until something can be sent or has come, and does that.
  void move(Milliseconds longest);

  /// Whether everybody is there or has left in order.
  Status check();
  /// A peer whose connection ended without a word.
  std::optional<uint32_t> findLost();

  /// Tells all that the change is made.
  void decide();
  bool isDecided();
  /// From here to endAwaiting() this rank is bound by rank 0's decision, which
  /// rank 0 is about to note. Refused after an error.
  Status beginAwaiting();
  void endAwaiting();

  /// Ends the change, and tells the peers why: the first cause that is known,
  /// or else this one.
  void giveUp(std::string_view cause);
  bool hasGivenUp() const { return isGivenUp; }
  /// See Control::onStop().
  void onStop(std::function<void()> callback);
  /// Whether somebody has given up or is gone.
  bool isExplained();
  /// Whether rank 0 has given up or left, or is gone; at rank 0, whether all
  /// others have, who hear it for so long.
  bool isSettled();
  /// What all name, once settled: what rank 0 gave up with, or that it is lost;
  /// else the first one that is known.
  std::optional<Failure> failure();
  bool isExcluded();

private:
  // With the lock held:
  Status stopped() const;
  std::string lost(uint32_t peer) const;
  const Failure *findFailure() const;
  std::optional<uint32_t> findLostPeer() const;
  bool knowsExclusion() const;
  void endWith(const Failure &failure);
  void passOnDecision();
  void judge(Milliseconds time);
  template <typename Add> void sayLastWords(Add add);

  void tick(Milliseconds elapsed);
  void listen(Milliseconds elapsed);
  void wakeUp() const;

  const PeerControlOptions options;
  const Socket wake; // readable where whoever waits should look again
  std::mutex mutex;
  PeerChannels channels;
  std::optional<Failure> own; // that this process gave up with
  std::atomic<bool> isGivenUp{false};
  bool isDecided_ = false, isAwaiting = false;
  std::mutex calling; // held while the callback runs; taken before `mutex`
  std::function<void()> callback;
  std::optional<Ticker> ticker; // ends before what it uses
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_PEERTRAFFIC_H
