#include "core/transport/Reach.h"

#include "core/net/OwnAddress.h"

using namespace etc::runtime;

/// Between two questions whether there is a reason to wait any longer.
constexpr auto kAttempt = std::chrono::seconds(2);

constexpr char kHint[] =
    "; --host (host in C and Python) sets the address that others reach it at";

Result<Listener> etc::runtime::listenAtHost(const std::string &host) {
  Result<std::string> own = findOwnAddress(host);
  if (!own)
    return own.status();
  Listener listener{{}, {*own, 0}};
  Result<Socket> socket = listenAt(listener.address);
  if (!socket)
    return socket.status();
  listener.socket = std::move(*socket);
  return listener;
}

static Status describe(const std::string &peer, const Address &address,
                       const Deadline &deadline, bool isRefused,
                       const std::string &source) {
  const std::string patience = text(" within ", deadline.seconds(), " s");
  if (isRefused && !source.empty())
    return Status(ErrorKind::Peer,
                  text(peer, " does not answer", patience, ": ", source,
                       " names ", address.describe(),
                       ", where nobody listens; if an earlier run left it, "
                       "remove it, or use another tag or an empty directory",
                       kHint));
  return Status(ErrorKind::Peer, text(peer, " does not answer at ",
                                      address.describe(), patience, kHint));
}

Result<Socket> etc::runtime::reach(const std::string &peer,
                                   const Address &address,
                                   const Deadline &deadline,
                                   const std::function<Status()> &check,
                                   const std::string &source) {
  bool isRefused = false;
  while (true) {
    Result<Socket> socket = connectTo(
        address, std::min(deadline.time(), Deadline::Clock::now() + kAttempt),
        &isRefused);
    if (socket)
      return socket;
    if (socket.status().kind() != ErrorKind::Peer)
      return socket.status().at(peer);
    if (Status s = check ? check() : Status::success(); !s.ok())
      return s;
    if (deadline.isOver())
      return describe(peer, address, deadline, isRefused, source);
  }
}
