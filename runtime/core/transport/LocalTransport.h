// Participants that are threads of one process. A message is handed over by
// pointer.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_LOCALTRANSPORT_H
#define ETC_RUNTIME_CORE_TRANSPORT_LOCALTRANSPORT_H

#include "core/transport/Transport.h"

#include <memory>
#include <vector>

namespace etc::runtime {

/// The connections of all participants. It has to outlive their use; so has,
/// after an error, everything that was posted, since a peer may still be
/// reading it.
class LocalCluster {
public:
  /// `devices[rank]` is what messages call a rank.
  explicit LocalCluster(std::vector<uint32_t> devices);
  ~LocalCluster();

  Transport &transport(uint32_t rank);
  Control &control(uint32_t rank);

private:
  class Endpoint;
  class LocalControl;
  struct Shared;

  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<std::unique_ptr<LocalControl>> controls_;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_LOCALTRANSPORT_H
