// How participants of a trainer find each other.

#ifndef ETC_RUNTIME_CAPI_BOOTSTRAP_H
#define ETC_RUNTIME_CAPI_BOOTSTRAP_H

#include "capi/Handles.h"

#include "transport/Transport.h"

#include <atomic>
#include <memory>

namespace etc::runtime {

/// A job's values under keys: the caller's store, or files of a directory.
class KeyValues {
public:
  virtual ~KeyValues() = default;
  virtual Status set(const std::string &key, const std::string &value) = 0;
  /// Waits; the error is of kind Peer where nothing comes in time.
  virtual Result<std::string> get(const std::string &key,
                                  Milliseconds timeout) = 0;
};

/// All keys are put behind the tag.
std::unique_ptr<KeyValues> makeStore(const etc_store &store, std::string tag);
std::unique_ptr<KeyValues> makeDirectoryStore(std::string directory,
                                              std::string tag,
                                              const std::atomic<bool> &stop);

struct BootstrapOptions {
  uint32_t rank = 0;
  etc_transport transport = ETC_GLOO;
  etc_mode mode = ETC_EAGER;
  unsigned gpu = 0;
  std::string host;
  Milliseconds timeout{};
};

/// Whether all participants are about to do the same, and have an address where
/// the transport needs one. Every participant asks, and learns which one cannot
/// take part.
Status comparePlans(const OpenPlan &plan, const BootstrapOptions &options,
                    KeyValues &store);

/// Connects to all others. `isStopped` ends that.
Result<Connections> connect(const OpenPlan &plan,
                            const BootstrapOptions &options, KeyValues &store,
                            const std::atomic<bool> &isStopped);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CAPI_BOOTSTRAP_H
