// How participants reach each other: where one listens, and how another
// connects.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_REACH_H
#define ETC_RUNTIME_CORE_TRANSPORT_REACH_H

#include "core/net/Socket.h"
#include "core/transport/Deadline.h"

#include <functional>

namespace etc::runtime {

/// A socket that listens at an address that others can be told.
struct Listener {
  Socket socket;
  Address address;
};

/// At a name or an address of this host; empty takes the host's name. Errors
/// are of kind Usage.
Result<Listener> listenAtHost(const std::string &host);

/// Connects to a peer, again and again. The error is of kind Peer where it does
/// not answer in time, and names the remedy; it is that of `check`, which is
/// asked now and then, where there is one. `source` is where the address was
/// found, if an earlier run may have left it there.
Result<Socket> reach(const std::string &peer, const Address &address,
                     const Deadline &deadline,
                     const std::function<Status()> &check,
                     const std::string &source = {});

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_REACH_H
