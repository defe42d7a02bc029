// How participants exchange messages.

#ifndef ETC_RUNTIME_TRANSPORT_TRANSPORT_H
#define ETC_RUNTIME_TRANSPORT_TRANSPORT_H

#include "plan/Status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Result;
using plan::Status;
using plan::text;
using Milliseconds = std::chrono::milliseconds;

/// A message to a peer, in the caller's memory.
struct Outgoing {
  uint32_t peer;
  std::span<const std::byte> bytes;
};

/// A message from a peer: `landing` is the caller's memory, as long as the
/// message; after wait() the message is at `bytes`, which is the landing or,
/// where sender and receiver share memory, the sender's own.
struct Incoming {
  uint32_t peer;
  std::span<std::byte> landing;
  std::span<const std::byte> bytes;
};

/// What a receiver tells the sender of a message: its hash.
struct Acknowledgement {
  uint32_t peer;
  uint64_t hash;
};

/// One participant's end of the exchange. Peers are ranks. Messages between two
/// ranks arrive in the order they were posted. Errors are of kind Peer; after
/// one the transport is of no more use. For use by one thread.
///
/// A group of messages is posted, waited for, and acknowledged; then the next
/// one can be posted. `outgoing` must stay as it is, and the messages received
/// can be read, until acknowledge() returns.
class Transport {
public:
  virtual ~Transport() = default;

  /// Starts a group, with at most one message a peer and direction. `incoming`
  /// is filled by wait().
  virtual Status post(std::span<const Outgoing> outgoing,
                      std::span<Incoming> incoming) = 0;

  /// Returns when everything posted was received.
  virtual Status wait(Milliseconds timeout) = 0;

  /// Sends every entry of `received` to its peer and waits for one from each
  /// peer in `sent`, filling in the hash.
  virtual Status acknowledge(std::span<const Acknowledgement> received,
                             std::span<Acknowledgement> sent,
                             Milliseconds timeout) = 0;

  /// The peer that the last error was about, where it was about one.
  virtual std::optional<uint32_t> culprit() const { return std::nullopt; }

  /// Makes all waits, one's own and the peers', end with an error. Any thread
  /// may call it.
  virtual void abort() = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_TRANSPORT_TRANSPORT_H
