// How processes of a job leave values for each other before they are connected:
// the job's store, a directory, or a hub.

#ifndef ETC_RUNTIME_JOB_RENDEZVOUS_H
#define ETC_RUNTIME_JOB_RENDEZVOUS_H

#include "core/plan/Status.h"
#include "core/transport/Deadline.h"

#include <atomic>
#include <memory>
#include <optional>
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
  /// Sets a key that no process has set yet, in one step. Returns the value
  /// that it has now: this one, or the one that was first.
  virtual Result<std::string> putFirst(const std::string &key,
                                       const std::string &value) = 0;
  /// Waits; the error is of kind Peer where nothing comes in time.
  virtual Result<std::string> get(const std::string &key,
                                  const Deadline &deadline) = 0;
  /// What people find a key's value under, such as a file.
  virtual std::string placeOf(const std::string &key) const { return key; }
};

/// A file a key, which this user alone reads and writes. Names begin with the
/// tag. `stop` ends waits.
std::unique_ptr<Rendezvous>
makeDirectoryRendezvous(std::string directory, std::string tag,
                        const std::atomic<bool> &stop);

/// The rendezvous of one change. Who cannot take part says so here, and all
/// that wait learn it; so does who comes when the others have given it up.
class ChangeRendezvous final : public Rendezvous {
public:
  ChangeRendezvous(std::unique_ptr<Rendezvous> inner, uint32_t rank,
                   uint32_t generation, const std::atomic<bool> &stop)
      : inner(std::move(inner)), rank(rank), generation(generation),
        stop(stop) {}

  Status put(const std::string &key, const std::string &value) override {
    return inner->put(key, value);
  }
  Result<std::string> putFirst(const std::string &key,
                               const std::string &value) override {
    return inner->putFirst(key, value);
  }
  Result<std::string> get(const std::string &key,
                          const Deadline &deadline) override;
  std::string placeOf(const std::string &key) const override {
    return inner->placeOf(key);
  }

  /// An error where a participant has said that it cannot take part: its cause,
  /// of kind Excluded where this process was given up. It looks now and then.
  Status check();

  /// Tells the others why this participant does not take part, and which one it
  /// does not wait for any more. What another one said first stays.
  void refuse(const std::string &cause, std::optional<uint32_t> missing = {});

private:
  Status look();

  const std::unique_ptr<Rendezvous> inner;
  const uint32_t rank, generation;
  const std::atomic<bool> &stop;
  Status found = Status::success();
  Deadline nextLook{Milliseconds(0)};
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_RENDEZVOUS_H
