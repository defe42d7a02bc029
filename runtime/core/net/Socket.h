// TCP sockets that never block for longer than they are told, secured or not.

#ifndef ETC_RUNTIME_CORE_NET_SOCKET_H
#define ETC_RUNTIME_CORE_NET_SOCKET_H

#include "core/net/TlsSession.h"
#include "core/plan/Status.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace etc::runtime {

using plan::Result;
using plan::Status;
using Milliseconds = std::chrono::milliseconds;

/// Owns a descriptor; all of them are non-blocking.
class Socket {
public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket &&other) noexcept
      : fd_(std::exchange(other.fd_, -1)), tls(std::move(other.tls)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(tls, other.tls);
    return *this;
  }
  ~Socket();

  int fd() const { return fd_; }
  bool isOpen() const { return fd_ >= 0; }
  void close() { *this = Socket(); }

  /// From here on only a process that knows the secret is heard, and nobody
  /// else can read what is said.
  void secure(TlsSide side, const Secret &secret) {
    tls = std::make_unique<TlsSession>(fd_, side, secret);
  }
  /// Whether bytes can be sent; a secured connection has to hear the peer
  /// first.
  bool isReady() const { return !tls || tls->isOpen(); }

  /// Whether a secured connection ended before it was ready, and not because
  /// the peer refused it.
  bool isCutOff() const { return tls && tls->isCutOff(); }
  /// Of a connection that failed, whether a secured one's peer refused it.
  bool isRefused() const { return tls && !tls->isGone(); }

  /// How many bytes went or came at once, 0 where none can now; nothing at the
  /// end of the connection. What `hasMore` behind it need not be a packet of
  /// its own: the system may wait for that, a fraction of a second at most.
  std::optional<size_t> write(std::span<const std::byte> bytes,
                              bool hasMore = false) const;
  std::optional<size_t> read(std::span<std::byte> bytes) const;

  /// Appends what has come; false at the end of the connection.
  bool receive(std::string &bytes) const;
  /// Removes from the front what could be sent; false at the end of the
  /// connection.
  bool send(std::string &bytes) const;

private:
  int fd_ = -1;
  std::unique_ptr<TlsSession> tls; // where it is secured
};

/// A place to connect to.
struct Address {
  std::string host = "127.0.0.1";
  uint16_t port = 0; // 0: any, when listening

  std::string describe() const { return host + ":" + std::to_string(port); }
};

/// "host:port"; the error is of kind Usage.
Result<Address> parseAddress(const std::string &value);

/// Listens, and sets the port that was taken. The errors are of kind Usage.
Result<Socket> listenAt(Address &address);
/// Tries again until the deadline; then the error is of kind Peer, and
/// `isRefused` says whether nobody listens there. Out of descriptors it is of
/// kind Usage.
Result<Socket> connectTo(const Address &address,
                         std::chrono::steady_clock::time_point deadline,
                         bool *isRefused = nullptr);
/// Begins to connect to the first address of a name, and does not wait.
Result<Socket> beginConnect(const Address &address);
/// Of such a socket: 0 once it is connected, EINPROGRESS, or why it can't be.
int connectError(const Socket &socket);
/// A connection that waits, or a closed socket, and errno says why.
Socket accept(const Socket &listener);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_NET_SOCKET_H
