#include "core/transport/TcpTransport.h"

#include "core/plan/SystemError.h"
#include "core/transport/Pace.h"
#include "core/transport/TcpMeeting.h"

#include <atomic>
#include <future>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

using namespace etc::runtime;

namespace {

/// It fits into the second-level cache of a core, with what the kernel makes of
/// it.
constexpr uint64_t kPieceBytes = 256 << 10;

/// A message on its way out or in, piece by piece.
template <typename Message> struct Progress {
  Message *message;
  const Socket *socket;
  size_t piece = 0;
  uint64_t bytes = 0; // of the piece
  bool isBegun = false;

  bool isOver() const { return piece == message->pieces.size(); }
  bool hasMore() const { return piece + 1 != message->pieces.size(); }
  auto rest() const { return message->pieces[piece].subspan(bytes); }
  void next() {
    ++piece;
    bytes = 0;
    isBegun = false;
  }
};
using Sending = Progress<const Outgoing>;
using Receiving = Progress<Incoming>;

/// Waits until one of those that are not over can go on.
template <typename Transfers>
void await(const Transfers &transfers, short event, Milliseconds longest) {
  std::vector<pollfd> entries;
  for (const auto &transfer : transfers)
    if (!transfer.isOver())
      entries.push_back({transfer.socket->fd(), event, 0});
  ::poll(entries.data(), entries.size(), static_cast<int>(longest.count()));
}

/// Of the sender's own host and of a network that knows classes of traffic. An
/// option that a socket does not have changes nothing.
void markAsBulk(const Socket &socket, bool isBulk) {
  constexpr int leastEffort = 0x20, bulk = 2; // CS1, TC_PRIO_BULK
  const int service = isBulk ? leastEffort : 0, priority = isBulk ? bulk : 0;
  ::setsockopt(socket.fd(), IPPROTO_IP, IP_TOS, &service, sizeof service);
  ::setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_TCLASS, &service,
               sizeof service);
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_PRIORITY, &priority,
               sizeof priority);
}

template <typename Transfers> bool areOver(const Transfers &transfers) {
  return std::all_of(transfers.begin(), transfers.end(),
                     [](const auto &transfer) { return transfer.isOver(); });
}

class TcpTransport final : public Transport {
public:
  explicit TcpTransport(const TcpOptions &options) : options(options) {}

  ~TcpTransport() override { stop(); }

  uint64_t pieceBytes() const override { return kPieceBytes; }
  bool receivesInCache() const override { return true; }

  Status prepare(const Preparation &preparation,
                 const Deadline &deadline) override {
    Result<TcpConnections> made =
        meetOverTcp(options, preparation, deadline, [this] {
          return isAborted ? stopped() : options.control->check();
        });
    if (!made)
      return made.status();
    std::lock_guard lock(mutex);
    connections = std::move(*made);
    return isAborted ? stopped() : Status::success();
  }

  /// Another thread fills and sends, so that the caller can do something else
  /// meanwhile.
  Status post(std::span<const Outgoing> outgoing,
              std::span<Incoming> incoming) override {
    receiving.clear();
    for (Incoming &message : incoming)
      receiving.push_back({&message, &connections.sources.at(message.peer)});
    std::vector<Sending> sends;
    for (const Outgoing &message : outgoing)
      sends.push_back({&message, &connections.targets.at(message.peer)});
    return sends.empty() ? Status::success() : begin(std::move(sends));
  }

  Status wait(const Deadline &deadline) override {
    Status status = receiveAll(deadline);
    if (!sending.valid())
      return status;
    if (status.ok() &&
        sending.wait_until(deadline.time()) != std::future_status::ready)
      status = lost(sendingTo, true, deadline, culprit_);
    if (!status.ok())
      abort();
    const Status sent = sending.get();
    if (!status.ok())
      return status; // the sender's error may only follow from it
    culprit_ = sendCulprit;
    return sent;
  }

  std::optional<uint32_t> culprit() const override { return culprit_; }

  bool stop() override {
    if (sending.valid()) {
      abort();
      (void)sending.get();
    }
    return true;
  }

  void setBackground(bool isBackground, uint64_t bytesPerSecond) override {
    std::lock_guard lock(mutex);
    pace.set(isBackground ? bytesPerSecond : 0);
    for (const auto &[peer, socket] : connections.targets)
      markAsBulk(socket, isBackground);
  }

  void abort() override {
    std::lock_guard lock(mutex);
    isAborted = true;
    // The peers' waits end when the connections do.
    for (const Sockets *sockets : {&connections.targets, &connections.sources})
      for (const auto &[peer, socket] : *sockets)
        ::shutdown(socket.fd(), SHUT_RDWR);
  }

private:
  Status begin(std::vector<Sending> sends) {
    try {
      sending = std::async(std::launch::async, [this, all = std::move(sends)] {
        return sendAll(all);
      });
    } catch (const std::system_error &error) {
      return Status(ErrorKind::Usage, etc::plan::describeThreadError(error));
    }
    return Status::success();
  }

  Status stopped() const {
    return Status(ErrorKind::Peer, "stopped, since another device failed");
  }

  Status lost(uint32_t peer, bool isLate, const Deadline &deadline,
              std::optional<uint32_t> &culprit) {
    culprit = peer;
    if (isLate)
      return Status(ErrorKind::Peer,
                    text("no answer from device ", options.devices[peer],
                         " within ", deadline.seconds(), " s"));
    return Status(ErrorKind::Peer, text("lost the connection to device ",
                                        options.devices[peer]));
  }

  /// Takes turns, so that no peer waits for another's message. However long it
  /// takes: the deadline is that of wait(), after which connections end.
  Status sendAll(std::vector<Sending> sends) {
    while (!areOver(sends)) {
      bool hasMoved = false;
      for (Sending &send : sends) {
        Result<bool> moved = send.isOver() ? false : sendSome(send);
        if (!moved)
          return moved.status();
        hasMoved |= *moved;
      }
      if (!hasMoved && std::exchange(isPaced, false))
        std::this_thread::sleep_for(Pace::kNap);
      else if (!hasMoved)
        await(sends, POLLOUT, Milliseconds(1000));
    }
    return Status::success();
  }

  /// Whether anything of the piece could be sent.
  Result<bool> sendSome(Sending &send) {
    sendingTo = send.message->peer;
    if (!std::exchange(send.isBegun, true) && send.message->fill)
      if (Status s = send.message->fill(send.piece); !s.ok())
        return s;
    const size_t allowed = pace.allowed(send.rest().size());
    if (allowed == 0 && !send.rest().empty()) {
      isPaced = true;
      return isAborted ? Result<bool>(stopped()) : Result<bool>(false);
    }
    const auto count =
        send.socket->write(send.rest().first(allowed), send.hasMore());
    if (!count)
      return lost(send.message->peer, false, Milliseconds(0), sendCulprit);
    pace.sent(*count);
    send.bytes += *count;
    if (send.rest().empty())
      send.next();
    return *count != 0 || !send.isBegun;
  }

  Status receiveAll(const Deadline &deadline) {
    while (!areOver(receiving)) {
      bool hasMoved = false;
      for (Receiving &receive : receiving) {
        Result<bool> moved = receive.isOver() ? false : receiveSome(receive);
        if (!moved)
          return moved.status();
        hasMoved |= *moved;
      }
      if (hasMoved)
        continue;
      if (deadline.isOver())
        return lost(std::find_if(receiving.begin(), receiving.end(),
                                 [](auto &one) { return !one.isOver(); })
                        ->message->peer,
                    true, deadline, culprit_);
      await(receiving, POLLIN, deadline.left());
    }
    return Status::success();
  }

  Result<bool> receiveSome(Receiving &receive) {
    const bool isEmpty = receive.rest().empty();
    const auto count = isEmpty ? 0 : receive.socket->read(receive.rest());
    if (!count)
      return lost(receive.message->peer, false, Milliseconds(0), culprit_);
    receive.bytes += *count;
    if (!receive.rest().empty())
      return *count != 0;
    if (receive.message->take)
      if (Status s = receive.message->take(receive.piece); !s.ok())
        return s;
    receive.next();
    return true;
  }

  const TcpOptions options;
  std::mutex mutex; // of what abort() touches
  TcpConnections connections;
  std::atomic<bool> isAborted{false};
  std::vector<Receiving> receiving;
  std::future<Status> sending; // from post() to wait()
  std::atomic<uint32_t> sendingTo{0};
  Pace pace;
  bool isPaced = false; // what kept the last message from being sent
  std::optional<uint32_t> sendCulprit; // of the thread that sends
  std::optional<uint32_t> culprit_;
};

} // namespace

std::unique_ptr<Transport>
etc::runtime::makeTcpTransport(const TcpOptions &options) {
  return std::make_unique<TcpTransport>(options);
}
