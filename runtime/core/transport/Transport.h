// How participants exchange state.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_TRANSPORT_H
#define ETC_RUNTIME_CORE_TRANSPORT_TRANSPORT_H

#include "core/device/DevicePoint.h"
#include "core/pack/Copy.h"
#include "core/transport/Control.h"

#include <functional>
#include <memory>

namespace etc::runtime {

/// A box of a tensor within the sender's memory.
struct View {
  ConstRegion around;
  BoxView part;
};

/// A message to a peer, in the caller's memory: pieces, in order, each
/// contiguous. Both ends cut a message into the same pieces. Where sender and
/// receiver share memory, `views` say instead where the elements are.
struct Outgoing {
  uint32_t peer;
  uint64_t bytes; // of the whole message
  std::span<const Bytes> pieces;
  std::span<const View> views;
  /// Fills piece i: called just before the piece is sent, where
  /// Transport::pieceBytes() is not 0, and by a thread that may be another than
  /// that of post() and wait().
  std::function<Status(size_t)> fill = {};
};

/// A message from a peer: the caller's memory for its pieces. After wait() they
/// are filled; or, where sender and receiver share memory and the sender posted
/// views, `views` are these.
struct Incoming {
  uint32_t peer;
  uint64_t bytes;
  std::span<const WritableBytes> pieces;
  std::span<const View> views;
  /// Takes piece i: called by wait() when it has come, where
  /// Transport::pieceBytes() is not 0.
  std::function<Status(size_t)> take = {};
};

/// What a participant can tell before the first message.
struct Preparation {
  /// Ranks that messages go to and come from.
  std::span<const uint32_t> targets, sources;
};

/// One participant's end of the exchange. Peers are ranks. Messages between two
/// ranks arrive in the order they were posted. Errors are of kind Peer; after
/// one the transport is of no more use. For use by one thread.
///
/// Groups of messages are posted and waited for in turn, at most groups() of
/// them at once. What was posted must stay as it is until the receivers say
/// that they have it, which they do by another way (Control).
class Transport {
public:
  virtual ~Transport() = default;

  /// Whether messages are read where the sender has them, so that neither end
  /// needs staging.
  virtual bool sharesMemory() const { return false; }

  /// Where messages go by the piece: what a piece should have at most, so that
  /// whoever fills or takes it does so in the cache. 0: messages are filled
  /// before they are posted, and taken when all have come.
  virtual uint64_t pieceBytes() const { return 0; }

  /// Whether a processor has pieces in its cache when they have come, and so
  /// would rather take them out of a slab past the cache than put them where
  /// they belong, which reads that memory before it is written.
  virtual bool receivesInCache() const { return false; }

  /// How many groups may be posted and not waited for yet.
  virtual unsigned groups() const { return 1; }

  /// The next group begins when the device has come there too.
  virtual Status beginAfter(DevicePoint) { return Status::success(); }

  /// Where the device is when all of the last group has come, until as many
  /// more were posted as groups() says. Null where only wait() tells.
  virtual DevicePoint end() const { return {}; }

  /// Makes all connections and what else takes time, ahead of the first group.
  /// All participants call it together.
  virtual Status prepare(const Preparation &, const Deadline &) {
    return Status::success();
  }

  /// After an error, when the others have been told: gives up the connections,
  /// and ends what is still under way, whose memory can go then. False where it
  /// did not end in time: the device may still write to that memory.
  virtual bool stop() { return true; }
  /// Whether it has ended since. Any thread may ask.
  virtual bool hasStopped() const { return true; }

  /// After the last group: gives up the connections, in order. All participants
  /// call it.
  virtual void finish(const Deadline &) {}

  /// From here on messages give way to others of this host, and this end sends
  /// at most so many bytes a second (0: as fast as it can); or, with false, no
  /// longer. Any thread may call it.
  virtual void setBackground(bool isBackground, uint64_t bytesPerSecond) {
    (void)isBackground, (void)bytesPerSecond;
  }

  /// Memory of the device that the transport took for itself.
  virtual uint64_t deviceBytes() const { return 0; }

  /// Starts a group, with at most one message a peer and direction. `incoming`
  /// is filled by wait(). A group may be empty.
  virtual Status post(std::span<const Outgoing> outgoing,
                      std::span<Incoming> incoming) = 0;

  /// Returns when everything of the first group that was not waited for yet was
  /// received.
  virtual Status wait(const Deadline &deadline) = 0;

  /// The peer that the last error was about, where it was about one.
  virtual std::optional<uint32_t> culprit() const { return std::nullopt; }

  /// Makes all waits, one's own and the peers', end with an error. Any thread
  /// may call it.
  virtual void abort() = 0;
};

/// What a participant is connected by. The transport may ask the control
/// whether it still makes sense to wait.
struct Connections {
  std::unique_ptr<Control> control;
  std::unique_ptr<Transport> transport;
  /// Carries deferred rounds, where the other one cannot; may be null.
  std::unique_ptr<Transport> tail;

  Connections() = default;
  /// Where control ends, so do waits for the transports.
  Connections(std::unique_ptr<Control> over, std::unique_ptr<Transport> moves,
              std::unique_ptr<Transport> later = nullptr)
      : control(std::move(over)), transport(std::move(moves)),
        tail(std::move(later)) {
    control->onStop([moves = transport.get(), later = tail.get()] {
      moves->abort();
      if (later)
        later->abort();
    });
  }
  Connections(Connections &&) = default;
  Connections &operator=(Connections &&) = default;
  ~Connections() {
    if (control)
      control->onStop({});
  }

  void abort(std::string_view cause = {}) const {
    if (control)
      control->abort(cause);
    for (Transport *each : {transport.get(), tail.get()})
      if (each)
        each->abort();
  }
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_TRANSPORT_H
