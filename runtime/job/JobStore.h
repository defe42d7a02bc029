// A key-value store that lives in the processes of a job, and as long as more
// than half of them.

#ifndef ETC_RUNTIME_JOB_JOBSTORE_H
#define ETC_RUNTIME_JOB_JOBSTORE_H

#include "job/Rendezvous.h"
#include "job/store/StoreNode.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace etc::runtime {

struct JobStoreOptions {
  uint32_t device = 0; // of this process
  /// The name or address at which others reach this host; empty: its own name.
  std::string host;
  /// After so long without a sign of life a process is given up.
  Milliseconds silence{5000};
  /// Until when it has to be found.
  Deadline deadline{Milliseconds(0)};
  /// Where processes find each other the first time; not used afterwards. Not
  /// owned. The first to come founds the store.
  Rendezvous *first = nullptr;
  /// Instead: what contact() of a member returned.
  std::string contact;
};

/// "SECRET@HOST:PORT,HOST:PORT"
struct Contact {
  std::string secret;
  std::vector<std::string> addresses;
};

/// One process is the hub, with a copy of what may be set once in all others;
/// what a process put it keeps as well. If the hub fails, the process that
/// joined next takes over, at the address that it told when it joined. A thread
/// of the library does this, whatever the process does meanwhile.
///
/// For any number of threads.
class JobStore final : public Rendezvous {
public:
  /// Errors are of kind Peer where no process of the job answers in time.
  static Result<std::unique_ptr<JobStore>> open(const JobStoreOptions &options);
  /// Leaves in order.
  ~JobStore() override;

  Status put(const std::string &key, const std::string &value) override;
  /// The error is of kind Peer where this process is cut off from most others.
  Result<std::string> putFirst(const std::string &key,
                               const std::string &value) override;
  /// Asks at least once, whatever the deadline.
  Result<std::string> get(const std::string &key,
                          const Deadline &deadline) override;

  /// What a process that joins later needs to know, a secret: it is of use as
  /// long as one of today's members is there.
  std::string contact() const;
  /// Of the members, in the order in which they joined: the first is the hub.
  std::vector<uint32_t> devices() const;

  /// Calls that wait now, in other threads, end with an error of kind Peer.
  void interrupt();

  /// In a forked child, which has none of the threads: closes the copies of
  /// this process's connections, so that others notice when it dies.
  void closeAfterFork();

private:
  JobStore(const JobProcess &self, Socket listener,
           const std::string &secretText, const Secret &secret,
           Milliseconds silence);
  Status begin(const JobStoreOptions &options, const std::string &known);
  Result<uint64_t> awaitMembership(const JobStoreOptions &options,
                                   Contact contact);
  void run();
  std::string describe() const;

  const std::string secretText, address;
  const Milliseconds silence;
  const int owner; // the process
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::unique_ptr<StoreNode> node;
  uint64_t lastRequest = 0, interrupts = 0;
  bool isOver = false;
  std::unique_ptr<std::thread> thread;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_JOBSTORE_H
