// How participants of a trainer find each other.

#ifndef ETC_RUNTIME_CAPI_BOOTSTRAP_H
#define ETC_RUNTIME_CAPI_BOOTSTRAP_H

#include "capi/Handles.h"

#include "core/transport/Transport.h"
#include "job/Rendezvous.h"

#include <memory>

namespace etc::runtime {

/// The caller's store. All keys are put behind the tag.
std::unique_ptr<Rendezvous> makeStore(const etc_store &store, std::string tag,
                                      etc_set_first setFirst = nullptr);

struct BootstrapOptions {
  uint32_t rank = 0;
  etc_transport transport = ETC_TCP;
  etc_mode mode = ETC_EAGER;
  unsigned gpu = 0;
  std::string host;
  bool isEncrypted = false; // state, over TCP
  Milliseconds timeout{};
  Milliseconds meeting{}; // of all of prepare; 0: `timeout`
  uint32_t generation = 0;
  /// After so long without a sign of life a participant is given up.
  Milliseconds silence{};
  /// Bytes a second that it sends at most of deferred state; 0: no limit.
  uint64_t tailRate = 0;
};

/// Whether all participants are about to do the same, in the same change, and
/// have an address where the transport needs one. Every participant asks, and
/// learns which one cannot take part. Returns the slowest tailRate; 0 where
/// nobody has a limit.
Result<uint64_t> comparePlans(const OpenPlan &plan,
                              const BootstrapOptions &options,
                              ChangeRendezvous &rendezvous,
                              const Deadline &deadline);

/// Connects to all others.
Result<Connections> connect(const OpenPlan &plan,
                            const BootstrapOptions &options,
                            ChangeRendezvous &rendezvous,
                            const Deadline &deadline);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CAPI_BOOTSTRAP_H
