#include "core/transport/TcpMeeting.h"

#include "core/net/OwnAddress.h"
#include "core/plan/SystemError.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <poll.h>
#include <set>

using namespace etc::runtime;
using Clock = std::chrono::steady_clock;

namespace {

/// So long a stranger may take to say who it is; so many may do that at once.
constexpr auto kPatience = std::chrono::seconds(10);
constexpr size_t kStrangers = 256;

/// What a receiver tells a sender.
struct Invitation {
  char host[252] = {}; // in numbers
  uint16_t port = 0;
  uint16_t isEncrypted = 0;
  Secret ticket;
};

/// What a connection begins with.
struct Introduction {
  char magic[8] = {'E', 'T', 'C', 'D', 'A', 'T', 'A', '1'};
  uint32_t from = 0, to = 0;
  Secret ticket;
};

/// A connection that has not said who it is.
struct Stranger {
  Socket socket;
  Introduction said;
  size_t bytes = 0;
  Clock::time_point deadline;
};

template <typename T> std::span<const std::byte> bytesOf(const T &value) {
  return std::as_bytes(std::span(&value, 1));
}
template <typename T> WritableBytes roomOf(T &value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

class Meeting {
public:
  Meeting(const TcpOptions &options, const Preparation &preparation,
          const Deadline &deadline, const std::function<Status()> &isCalledOff)
      : options(options), deadline(deadline), isCalledOff(isCalledOff),
        targets(preparation.targets),
        missing(preparation.sources.begin(), preparation.sources.end()) {}

  Result<TcpConnections> run() {
    if (Status s = invite(); !s.ok())
      return s;
    for (uint32_t target : targets)
      if (Status s = connect(target); !s.ok())
        return s;
    while (!missing.empty() || !introductions.empty())
      if (Status s = meetSomeone(); !s.ok())
        return s;
    return std::move(connections);
  }

private:
  Status invite() {
    if (missing.empty())
      return Status::success();
    Result<std::string> host = findOwnAddress(options.host);
    if (!host)
      return host.status();
    Address address{*host, 0};
    Result<Socket> opened = listenAt(address);
    if (!opened)
      return opened.status();
    listener = std::move(*opened);
    Result<Secret> made = makeSecret(randomSecretText());
    if (!made)
      return made.status();
    Invitation invitation;
    invitation.ticket = ticket = *made;
    invitation.port = address.port;
    invitation.isEncrypted = options.isEncrypted;
    host->copy(invitation.host, sizeof invitation.host - 1);
    for (uint32_t source : missing)
      if (Status s = options.control->send(source, bytesOf(invitation));
          !s.ok())
        return s;
    return Status::success();
  }

  Status connect(uint32_t target) {
    Invitation invitation;
    if (Status s =
            options.control->receive(target, roomOf(invitation), deadline);
        !s.ok())
      return s;
    if ((invitation.isEncrypted != 0) != options.isEncrypted)
      return Status(ErrorKind::Usage,
                    text("device ", options.devices[target],
                         options.isEncrypted
                             ? " does not encrypt state, this one does"
                             : " encrypts state, this one does not",
                         "; give all processes the same option"));
    const Address address{
        std::string(invitation.host,
                    ::strnlen(invitation.host, sizeof invitation.host)),
        invitation.port};
    Result<Socket> socket = connectTo(address, soon());
    while (!socket && socket.status().kind() == ErrorKind::Peer) {
      if (Status s = isCalledOff(); !s.ok())
        return s;
      if (deadline.isOver())
        return unreachable(target, address);
      socket = connectTo(address, soon());
    }
    if (!socket)
      return socket.status().at(text("device ", options.devices[target]));
    if (options.isEncrypted)
      socket->secure(TlsSide::Connecting, invitation.ticket);
    Introduction &mine = introductions[target];
    mine.from = options.rank;
    mine.to = target;
    mine.ticket = invitation.ticket;
    connections.targets.emplace(target, std::move(*socket));
    return Status::success();
  }

  Status unreachable(uint32_t target, const Address &address) const {
    return Status(
        ErrorKind::Peer,
        text("device ", options.devices[target], " does not answer at ",
             address.describe(), " within ", deadline.seconds(),
             " s; --host (host in C and Python) sets the address that others "
             "reach it at"));
  }

  Clock::time_point soon() const {
    return std::min(deadline.time(), Clock::now() + std::chrono::seconds(2));
  }

  Status meetSomeone() {
    if (Status s = isCalledOff(); !s.ok())
      return s;
    if (deadline.isOver())
      return Status(ErrorKind::Peer, text("device ", options.devices[slowest()],
                                          " has not connected within ",
                                          deadline.seconds(), " s"));
    waitForSomeone();
    for (auto it = introductions.begin(); it != introductions.end();) {
      Result<bool> isSaid = introduce(it->first, it->second);
      if (!isSaid)
        return isSaid.status();
      it = *isSaid ? introductions.erase(it) : std::next(it);
    }
    return missing.empty() ? Status::success() : hearStrangers();
  }

  uint32_t slowest() const {
    return missing.empty() ? introductions.begin()->first : *missing.begin();
  }

  void waitForSomeone() const {
    std::vector<pollfd> entries;
    if (!missing.empty())
      entries.push_back({listener.fd(), POLLIN, 0});
    for (const Stranger &stranger : strangers)
      entries.push_back({stranger.socket.fd(), POLLIN, 0});
    for (const auto &[target, introduction] : introductions) {
      const Socket &socket = connections.targets.at(target);
      const short event = socket.isReady() ? POLLOUT : POLLIN;
      entries.push_back({socket.fd(), event, 0});
    }
    constexpr int longest = 100; // then deadlines are looked at
    ::poll(entries.data(), entries.size(), longest);
  }

  /// Whether a target has been told who this is.
  Result<bool> introduce(uint32_t target, const Introduction &mine) const {
    // It fits the buffer of a new connection.
    const auto count = connections.targets.at(target).write(bytesOf(mine));
    if (!count)
      return Status(ErrorKind::Peer, text("lost the connection to device ",
                                          options.devices[target]));
    return *count == sizeof mine;
  }

  Status hearStrangers() {
    if (Socket socket = accept(listener); socket.isOpen()) {
      if (options.isEncrypted)
        socket.secure(TlsSide::Accepting, ticket);
      strangers.push_back({std::move(socket), {}, 0, Clock::now() + kPatience});
    } else if (etc::plan::isOutOfDescriptors(errno)) {
      return Status(ErrorKind::Usage,
                    "cannot take the connections of other devices: " +
                        etc::plan::describeSystemError(errno));
    }
    std::erase_if(strangers,
                  [&](Stranger &stranger) { return !listenTo(stranger); });
    if (strangers.size() > kStrangers)
      strangers.pop_front();
    return Status::success();
  }

  /// Whether the stranger may go on talking. It stops being one where it is a
  /// sender that is still missing. What comes after its introduction is state.
  bool listenTo(Stranger &stranger) {
    const auto count =
        stranger.socket.read(roomOf(stranger.said).subspan(stranger.bytes));
    stranger.bytes += count.value_or(0);
    if (stranger.bytes != sizeof(Introduction))
      return count && Clock::now() < stranger.deadline;
    const Introduction &theirs = stranger.said, expected;
    const bool isSender =
        std::equal(std::begin(theirs.magic), std::end(theirs.magic),
                   std::begin(expected.magic)) &&
        equals(theirs.ticket, ticket) && theirs.to == options.rank &&
        missing.count(theirs.from);
    if (isSender) {
      connections.sources.emplace(theirs.from, std::move(stranger.socket));
      missing.erase(theirs.from);
    }
    return false;
  }

  const TcpOptions &options;
  const Deadline &deadline;
  const std::function<Status()> &isCalledOff;
  const std::span<const uint32_t> targets;
  std::set<uint32_t> missing;                     // sources
  std::map<uint32_t, Introduction> introductions; // of this rank, by target
  Socket listener;
  Secret ticket;
  std::list<Stranger> strangers;
  TcpConnections connections;
};

} // namespace

Result<TcpConnections> etc::runtime::meetOverTcp(
    const TcpOptions &options, const Preparation &preparation,
    const Deadline &deadline, const std::function<Status()> &check) {
  return Meeting(options, preparation, deadline, check).run();
}
