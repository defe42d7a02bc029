#include "core/transport/TcpMeeting.h"

#include "core/transport/Reach.h"
#include "core/transport/Strangers.h"

#include <algorithm>
#include <cstring>
#include <poll.h>
#include <set>
#include <thread>
#include <utility>

using namespace etc::runtime;

namespace {

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

/// Before a target is tried again.
constexpr Milliseconds kAgain{20};

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
    Result<Listener> opened = listenAtHost(options.host);
    if (!opened)
      return opened.status();
    listener = std::move(opened->socket);
    Result<Secret> made = makeSecret(randomSecretText());
    if (!made)
      return made.status();
    Invitation invitation;
    invitation.ticket = ticket = *made;
    invitation.port = opened->address.port;
    invitation.isEncrypted = options.isEncrypted;
    opened->address.host.copy(invitation.host, sizeof invitation.host - 1);
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
    Introduction &mine = introductions[target];
    mine.from = options.rank;
    mine.to = target;
    mine.ticket = invitation.ticket;
    addresses[target] = {
        std::string(invitation.host,
                    ::strnlen(invitation.host, sizeof invitation.host)),
        invitation.port};
    return reachTarget(target);
  }

  /// Introduces itself at once: a stranger that is silent may have to go.
  Status reachTarget(uint32_t target) {
    Result<Socket> socket = reach(text("device ", options.devices[target]),
                                  addresses[target], deadline, isCalledOff);
    if (!socket)
      return socket.status();
    if (options.isEncrypted)
      socket->secure(TlsSide::Connecting, introductions[target].ticket);
    connections.targets.insert_or_assign(target, std::move(*socket));
    Result<bool> isSaid = introduce(target, introductions[target]);
    if (isSaid && *isSaid)
      introductions.erase(target);
    return isSaid.status();
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
    for (uint32_t target : std::exchange(cutOff, {})) {
      std::this_thread::sleep_for(kAgain);
      if (Status s = reachTarget(target); !s.ok())
        return s;
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
    strangers.addEntries(entries);
    for (const auto &[target, introduction] : introductions) {
      const Socket &socket = connections.targets.at(target);
      const short event = socket.isReady() ? POLLOUT : POLLIN;
      entries.push_back({socket.fd(), event, 0});
    }
    constexpr int longest = 100; // then deadlines are looked at
    ::poll(entries.data(), entries.size(), longest);
  }

  /// Whether a target has been told who this is. One that had too many
  /// strangers is told again.
  Result<bool> introduce(uint32_t target, const Introduction &mine) {
    // It fits the buffer of a new connection.
    const Socket &socket = connections.targets.at(target);
    const auto count = socket.write(bytesOf(mine));
    // It may have been cut off when it was ready already, before it was heard.
    if (!count && !socket.isRefused()) {
      cutOff.insert(target);
      return false;
    }
    if (!count)
      return Status(ErrorKind::Peer, text("lost the connection to device ",
                                          options.devices[target]));
    return *count == sizeof mine;
  }

  Status hearStrangers() {
    const Status status =
        strangers.take(listener, options.isEncrypted ? &ticket : nullptr);
    strangers.hear([&](Socket &socket, const std::string &said) {
      judge(socket, said);
      return true;
    });
    return status;
  }

  /// Takes up a sender that is still missing. What comes after its introduction
  /// is state.
  void judge(Socket &socket, const std::string &said) {
    Introduction theirs;
    std::memcpy(&theirs, said.data(), sizeof theirs);
    const Introduction expected;
    const bool isSender =
        std::equal(std::begin(theirs.magic), std::end(theirs.magic),
                   std::begin(expected.magic)) &&
        equals(theirs.ticket, ticket) && theirs.to == options.rank &&
        missing.count(theirs.from);
    if (isSender) {
      connections.sources.emplace(theirs.from, std::move(socket));
      missing.erase(theirs.from);
    }
  }

  const TcpOptions &options;
  const Deadline &deadline;
  const std::function<Status()> &isCalledOff;
  const std::span<const uint32_t> targets;
  std::set<uint32_t> missing;                     // sources
  std::map<uint32_t, Introduction> introductions; // of this rank, by target
  std::map<uint32_t, Address> addresses;          // of targets
  std::set<uint32_t> cutOff;                      // targets, to reach again
  Socket listener;
  Secret ticket;
  Strangers strangers{sizeof(Introduction), true};
  TcpConnections connections;
};

} // namespace

Result<TcpConnections> etc::runtime::meetOverTcp(
    const TcpOptions &options, const Preparation &preparation,
    const Deadline &deadline, const std::function<Status()> &check) {
  return Meeting(options, preparation, deadline, check).run();
}
