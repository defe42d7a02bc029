// Participants that are processes, on one host or several, exchanging host
// memory over TCP through Gloo.

#ifndef ETC_RUNTIME_TRANSPORT_GLOOTRANSPORT_H
#define ETC_RUNTIME_TRANSPORT_GLOOTRANSPORT_H

#include "transport/Transport.h"

#include <memory>
#include <string>
#include <vector>

namespace etc::runtime {

struct GlooOptions {
  uint32_t rank = 0;
  /// `devices[rank]` is what messages call a rank.
  std::vector<uint32_t> devices;
  /// An empty directory that all processes see; they find each other through
  /// files in it, and remove them.
  std::string rendezvous;
  /// The name or address of this host to listen on; empty takes the host's
  /// name.
  std::string host;
  /// How long the others may take to appear.
  Milliseconds timeout{};
};

/// Whether this build has Gloo.
bool hasGloo();

/// Connects to all other participants. Errors are of kind Peer where others do
/// not appear, else Usage; a build without Gloo always returns one.
Result<std::unique_ptr<Transport>> connectGloo(const GlooOptions &options);

} // namespace etc::runtime

#endif // ETC_RUNTIME_TRANSPORT_GLOOTRANSPORT_H
