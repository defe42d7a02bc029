#include "core/transport/Reach.h"

#include "core/net/OwnAddress.h"

using namespace etc::runtime;

/// Between two questions whether there is a reason to wait any longer.
constexpr auto kAttempt = std::chrono::seconds(2);

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

Result<Socket> etc::runtime::reach(const std::string &peer,
                                   const Address &address,
                                   const Deadline &deadline,
                                   const std::function<Status()> &check) {
  while (true) {
    Result<Socket> socket = connectTo(
        address, std::min(deadline.time(), Deadline::Clock::now() + kAttempt));
    if (socket)
      return socket;
    if (socket.status().kind() != ErrorKind::Peer)
      return socket.status().at(peer);
    if (Status s = check ? check() : Status::success(); !s.ok())
      return s;
    if (deadline.isOver())
      return Status(
          ErrorKind::Peer,
          text(peer, " does not answer at ", address.describe(), " within ",
               deadline.seconds(),
               " s; --host (host in C and Python) sets the address that others "
               "reach it at"));
  }
}
