// Participants that are processes, on one host or several, exchanging host
// memory over TCP.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_TCPTRANSPORT_H
#define ETC_RUNTIME_CORE_TRANSPORT_TCPTRANSPORT_H

#include "core/transport/Transport.h"

#include <memory>
#include <string>
#include <vector>

namespace etc::runtime {

struct TcpOptions {
  uint32_t rank = 0;
  /// `devices[rank]` is what messages call a rank.
  std::vector<uint32_t> devices;
  /// The name or address of this host to listen on; empty takes the host's
  /// name.
  std::string host;
  /// Whether state is encrypted on its way.
  bool isEncrypted = false;
  /// Hands out tickets, without which nobody is taken for a peer. Not owned.
  Control *control = nullptr;
};

/// Connects in prepare(), from each sender to its receivers. Errors there are
/// of kind Usage where `host` is not this machine's, or descriptors run out.
std::unique_ptr<Transport> makeTcpTransport(const TcpOptions &options);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_TCPTRANSPORT_H
