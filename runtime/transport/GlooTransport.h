// Participants that are processes, on one host or several, exchanging host
// memory over TCP through Gloo.

#ifndef ETC_RUNTIME_TRANSPORT_GLOOTRANSPORT_H
#define ETC_RUNTIME_TRANSPORT_GLOOTRANSPORT_H

#include "transport/Transport.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace etc::runtime {

struct GlooOptions {
  uint32_t rank = 0;
  /// `devices[rank]` is what messages call a rank.
  std::vector<uint32_t> devices;
  /// Through which processes tell each other where they listen: values under
  /// keys. `get` waits; its error is of kind Peer.
  std::function<void(const std::string &key, const std::string &value)> put;
  std::function<Result<std::string>(const std::string &key)> get;
  /// The name or address of this host to listen on; empty takes the host's
  /// name.
  std::string host;
  /// How long the others may take to appear.
  Deadline deadline{Milliseconds(0)};
};

/// Whether this build has Gloo.
bool hasGloo();

/// Connects to all other participants. Errors are of kind Peer where others do
/// not appear, else Usage; a build without Gloo always returns one. From then
/// on the process ignores SIGPIPE, unless it handles it.
Result<std::unique_ptr<Transport>> connectGloo(const GlooOptions &options);

} // namespace etc::runtime

#endif // ETC_RUNTIME_TRANSPORT_GLOOTRANSPORT_H
