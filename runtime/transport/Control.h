// What participants tell each other about a migration: that they are there,
// hashes, acknowledgements, that they give up. It goes over connections of its
// own and never the way that state takes, so that a transport has to carry
// nothing but state.

#ifndef ETC_RUNTIME_TRANSPORT_CONTROL_H
#define ETC_RUNTIME_TRANSPORT_CONTROL_H

#include "plan/Status.h"
#include "transport/Deadline.h"

#include <cstddef>
#include <cstdint>
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
/// kMostBytes. Errors are of kind Peer, and after one this is of no more use.
/// For use by one thread, abort() aside.
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

  /// An error where a participant has given up or was lost. It does not wait:
  /// whoever waits for something else asks now and then.
  virtual Status check() = 0;

  /// The peer that the last error was about, where it was about one.
  virtual std::optional<uint32_t> culprit() const = 0;

  /// Makes all waits, one's own and the peers', end with an error. Any thread
  /// may call it. The peers learn `cause`, one line of which kMostCauseBytes
  /// count, unless it is empty or another cause came first.
  virtual void abort(std::string_view cause) = 0;

  /// After an error: the cause that a participant gave when it gave up, itself
  /// or through others, which is waited for a little; empty where none did.
  virtual std::string cause() { return {}; }
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_TRANSPORT_CONTROL_H
