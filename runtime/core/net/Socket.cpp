#include "core/net/Socket.h"

#include "core/plan/SystemError.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace etc::runtime;
using etc::plan::describeSystemError;
using etc::plan::ErrorKind;
using etc::plan::isOutOfDescriptors;
using etc::plan::text;
using Clock = std::chrono::steady_clock;

/// Of one read; no stream is buffered without being parsed in between.
constexpr size_t kReadBytes = 64 * 1024;

Socket::~Socket() {
  if (fd_ >= 0)
    ::close(fd_);
}

static bool isPassing() { return errno == EAGAIN || errno == EINTR; }

std::optional<size_t> Socket::write(std::span<const std::byte> bytes,
                                    bool hasMore) const {
  if (tls)
    return tls->write(bytes);
  const int flags = MSG_NOSIGNAL | (hasMore ? MSG_MORE : 0);
  const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), flags);
  if (count < 0)
    return isPassing() ? std::optional<size_t>(0) : std::nullopt;
  return static_cast<size_t>(count);
}

std::optional<size_t> Socket::read(std::span<std::byte> bytes) const {
  if (tls)
    return tls->read(bytes);
  const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), 0);
  if (count > 0)
    return static_cast<size_t>(count);
  return count < 0 && isPassing() ? std::optional<size_t>(0) : std::nullopt;
}

bool Socket::receive(std::string &bytes) const {
  std::byte buffer[kReadBytes];
  const std::optional<size_t> count = read(buffer);
  bytes.append(reinterpret_cast<const char *>(buffer), count.value_or(0));
  return count.has_value();
}

bool Socket::send(std::string &bytes) const {
  size_t sent = 0;
  std::optional<size_t> count = 1;
  while (count.value_or(0) != 0 && sent != bytes.size()) {
    count = write(std::as_bytes(std::span(bytes).subspan(sent)));
    sent += count.value_or(0);
  }
  bytes.erase(0, sent);
  return count.has_value();
}

Result<Address> etc::runtime::parseAddress(const std::string &value) {
  size_t colon = value.rfind(':');
  Address address;
  if (colon != std::string::npos && colon != 0) {
    address.host = value.substr(0, colon);
    const char *end = value.data() + value.size();
    auto [stop, error] =
        std::from_chars(value.data() + colon + 1, end, address.port);
    if (error == std::errc() && stop == end && address.port != 0)
      return address;
  }
  return Status(ErrorKind::Usage, text(value, ": expected HOST:PORT"));
}

static void setUp(int fd) {
  int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

namespace {

using Infos = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<Infos> resolve(const Address &address) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  int error =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(),
                    &hints, &found);
  if (error != 0)
    return Status(ErrorKind::Usage,
                  text(address.host, ": ",
                       error == EAI_SYSTEM ? describeSystemError(errno)
                                           : ::gai_strerror(error)));
  return Infos(found, &::freeaddrinfo);
}

Socket openSocket(const addrinfo &info) {
  return Socket(::socket(info.ai_family,
                         info.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                         info.ai_protocol));
}

/// Whether a connection ends where it begins.
bool isWithinHost(const Socket &socket) {
  sockaddr_storage own{}, peer{};
  socklen_t ownLength = sizeof own, peerLength = sizeof peer;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr *>(&own),
                    &ownLength) != 0 ||
      ::getpeername(socket.fd(), reinterpret_cast<sockaddr *>(&peer),
                    &peerLength) != 0)
    return false;
  if (own.ss_family == AF_INET6)
    return std::memcmp(&reinterpret_cast<sockaddr_in6 &>(own).sin6_addr,
                       &reinterpret_cast<sockaddr_in6 &>(peer).sin6_addr,
                       sizeof(in6_addr)) == 0;
  const auto &here = reinterpret_cast<sockaddr_in &>(own).sin_addr;
  const auto &there = reinterpret_cast<sockaddr_in &>(peer).sin_addr;
  return here.s_addr == there.s_addr ||
         ntohl(there.s_addr) >> 24 == IN_LOOPBACKNET;
}

/// Within a host no network is to be shared: an algorithm that spaces out what
/// is sent (BBR) only sets timers. Where a kernel refuses, nothing changes.
void sendAtOnce(const Socket &socket) {
  constexpr std::string_view plain = "reno"; // every kernel has it
  ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_CONGESTION, plain.data(),
               plain.size());
}

uint16_t portOf(const Socket &socket) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  ::getsockname(socket.fd(), reinterpret_cast<sockaddr *>(&name), &length);
  return ntohs(name.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6 &>(name).sin6_port
                   : reinterpret_cast<sockaddr_in &>(name).sin_port);
}

/// One attempt on one address. Returns an error number, or 0.
int connectOnce(const Socket &socket, const addrinfo &info,
                Clock::time_point deadline) {
  if (::connect(socket.fd(), info.ai_addr, info.ai_addrlen) == 0)
    return 0;
  if (errno != EINPROGRESS)
    return errno;
  auto left = std::chrono::duration_cast<Milliseconds>(deadline - Clock::now());
  pollfd entry{socket.fd(), POLLOUT, 0};
  if (::poll(&entry, 1, std::max<int>(1, left.count())) != 1)
    return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length) == 0
             ? error
             : errno;
}

} // namespace

Result<Socket> etc::runtime::listenAt(Address &address) {
  Result<Infos> infos = resolve(address);
  if (!infos)
    return infos.status();
  int error = 0;
  for (const addrinfo *info = infos->get(); info; info = info->ai_next) {
    Socket socket = openSocket(*info);
    int on = 1;
    if (socket.isOpen() &&
        ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ==
            0 &&
        ::bind(socket.fd(), info->ai_addr, info->ai_addrlen) == 0 &&
        ::listen(socket.fd(), SOMAXCONN) == 0) {
      address.port = portOf(socket);
      return socket;
    }
    error = errno;
  }
  return Status(ErrorKind::Usage, text("cannot listen at ", address.describe(),
                                       ": ", describeSystemError(error)));
}

Result<Socket> etc::runtime::connectTo(const Address &address,
                                       Clock::time_point deadline,
                                       bool *isRefused) {
  Result<Infos> infos = resolve(address);
  if (!infos)
    return infos.status();
  int error = 0;
  do {
    for (const addrinfo *info = infos->get(); info; info = info->ai_next) {
      Socket socket = openSocket(*info);
      if (!socket.isOpen() && isOutOfDescriptors(errno))
        return Status(ErrorKind::Usage,
                      text("cannot connect to ", address.describe(), ": ",
                           describeSystemError(errno)));
      error = socket.isOpen() ? connectOnce(socket, *info, deadline) : errno;
      if (error == 0) {
        setUp(socket.fd());
        if (isWithinHost(socket))
          sendAtOnce(socket);
        return socket;
      }
    }
    std::this_thread::sleep_for(Milliseconds(20));
  } while (Clock::now() < deadline);
  if (isRefused)
    *isRefused = error == ECONNREFUSED;
  return Status(ErrorKind::Peer,
                text("nobody answers at ", address.describe()));
}

Result<Socket> etc::runtime::beginConnect(const Address &address) {
  Result<Infos> infos = resolve(address);
  if (!infos)
    return infos.status();
  Socket socket = openSocket(**infos);
  if (!socket.isOpen())
    return Status(ErrorKind::Usage,
                  text("cannot connect to ", address.describe(), ": ",
                       describeSystemError(errno)));
  setUp(socket.fd());
  (void)::connect(socket.fd(), (*infos)->ai_addr, (*infos)->ai_addrlen);
  return socket;
}

int etc::runtime::connectError(const Socket &socket) {
  pollfd entry{socket.fd(), POLLOUT, 0};
  if (::poll(&entry, 1, 0) != 1)
    return EINPROGRESS;
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

Socket etc::runtime::accept(const Socket &listener) {
  Socket socket(
      ::accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.isOpen()) {
    setUp(socket.fd());
    if (isWithinHost(socket))
      sendAtOnce(socket);
  }
  return socket;
}
