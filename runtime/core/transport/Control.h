// What participants tell each other about a migration: that they are there,
// hashes, acknowledgements, that they give up. It goes over connections of its
// own and never the way that state takes, so that a transport has to carry
// nothing but state.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_CONTROL_H
#define ETC_RUNTIME_CORE_TRANSPORT_CONTROL_H

#include "core/plan/Status.h"
#include "core/transport/Deadline.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Result;
using plan::Status;
using plan::text;

using Bytes = std::span<const std::byte>;
using WritableBytes = std::span<std::byte>;

/// One participant's end. Peers are ranks. A rank can talk to rank 0 and to all
/// that it exchanges state with; messages between two ranks arrive in the order
/// in which they were sent. Both ends know how long a message is: at most
/// kMostBytes. Errors are of kind Peer, or Excluded where the others gave this
/// process up; after one this is of no more use. For use by one thread, abort()
/// aside.
class Control {
public:
  static constexpr size_t kMostBytes = 1 << 20;
  static constexpr size_t kMostCauseBytes = 1024;

  /// Peers that wait for a message learn that none will come.
  virtual ~Control() = default;

  /// Sends a message, and does not wait for it to arrive.
  virtual Status send(uint32_t peer, Bytes message) = 0;

  /// Waits for the next message of a peer.
  virtual Status receive(uint32_t peer, WritableBytes message,
                         const Deadline &deadline) = 0;

  /// Rank 0, when all others are prepared: notes that the change is made, and
  /// tells all. Nothing undoes that, and from here on nothing but an error of
  /// `note` prevents it.
  virtual Status decide(const std::function<Status()> &note) = 0;

  /// Tells rank 0, which receives an empty message, that this rank is prepared,
  /// and waits for the decision. From then on it is bound: it heeds rank 0
  /// alone, which notices who else is missing, and abort() does nothing.
  /// Whoever has the decision passes it on, so that it arrives as long as one
  /// peer that has it lives.
  virtual Status awaitDecision(const Deadline &deadline) = 0;

  /// An error where a participant has given up or was lost. It does not wait:
  /// whoever waits for something else asks now and then.
  virtual Status check() = 0;

  /// Called once, by another thread, where this ends while the thread that uses
  /// it may be waiting for something else. Empty: nobody any more; the last
  /// call is over then.
  virtual void onStop(const std::function<void()> &) {}

  /// The peer that the last error was about, where it was about one.
  virtual std::optional<uint32_t> culprit() const = 0;

  /// Makes all waits, one's own and the peers', end with an error. Any thread
  /// may call it. The peers learn `cause`, one line of which kMostCauseBytes
  /// count, unless it is empty or another cause came first.
  virtual void abort(std::string_view cause) = 0;

  /// After an error: the cause that a participant gave when it gave up, itself
  /// or through others, which is waited for a little; empty where none did.
  /// After abort(): the same one for all who ask, which is rank 0's; unless
  /// rank 0 itself fails while it names one.
  virtual std::string cause() { return {}; }

  /// Whether the others gave this process up.
  virtual bool isExcluded() { return false; }
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_CONTROL_H
