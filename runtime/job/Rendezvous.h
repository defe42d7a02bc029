// How processes of a job leave values for each other before they are connected:
// the job's store, a directory, or a hub.

#ifndef ETC_RUNTIME_JOB_RENDEZVOUS_H
#define ETC_RUNTIME_JOB_RENDEZVOUS_H

#include "plan/Status.h"
#include "transport/Deadline.h"

#include <atomic>
#include <memory>
#include <string>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Result;
using plan::Status;
using plan::text;

/// Values under keys, which nobody but the job's processes can read.
class Rendezvous {
public:
  virtual ~Rendezvous() = default;
  virtual Status put(const std::string &key, const std::string &value) = 0;
  /// Waits; the error is of kind Peer where nothing comes in time.
  virtual Result<std::string> get(const std::string &key,
                                  const Deadline &deadline) = 0;
};

/// A file a key, which this user alone reads and writes. Names begin with the
/// tag. `stop` ends waits.
std::unique_ptr<Rendezvous>
makeDirectoryRendezvous(std::string directory, std::string tag,
                        const std::atomic<bool> &stop);

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_RENDEZVOUS_H
