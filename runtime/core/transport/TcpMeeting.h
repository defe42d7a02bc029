// How the senders of state find its receivers, and prove that they are.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_TCPMEETING_H
#define ETC_RUNTIME_CORE_TRANSPORT_TCPMEETING_H

#include "core/net/Socket.h"
#include "core/transport/TcpTransport.h"

#include <functional>
#include <map>

namespace etc::runtime {

/// By rank.
using Sockets = std::map<uint32_t, Socket>;

/// Connections that carry state one way.
struct TcpConnections {
  Sockets targets, sources;
};

/// A receiver listens, and tells each sender over control where, with a ticket
/// that is good for one connection. What does not begin with it is closed. With
/// encryption the ticket is the secret of TLS and never sent. `check` is asked
/// now and then: an error ends the meeting.
Result<TcpConnections> meetOverTcp(const TcpOptions &options,
                                   const Preparation &preparation,
                                   const Deadline &deadline,
                                   const std::function<Status()> &check);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_TCPMEETING_H
