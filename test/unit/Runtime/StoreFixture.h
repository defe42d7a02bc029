// A store of the threads of one process.

#ifndef ETC_TEST_STOREFIXTURE_H
#define ETC_TEST_STOREFIXTURE_H

#include "job/Rendezvous.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

namespace etc::runtime::test {

/// Values under keys, among threads.
class Store final : public Rendezvous {
public:
  Status put(const std::string &key, const std::string &value) override {
    std::lock_guard lock(mutex);
    values[key] = value;
    changed.notify_all();
    return Status::success();
  }
  Result<std::string> putFirst(const std::string &key,
                               const std::string &value) override {
    std::lock_guard lock(mutex);
    return values.try_emplace(key, value).first->second;
  }
  Result<std::string> get(const std::string &key,
                          const Deadline &deadline) override {
    std::unique_lock lock(mutex);
    if (!changed.wait_until(lock, deadline.time(),
                            [&] { return values.count(key); }))
      return Status(ErrorKind::Peer, key + ": nobody put it");
    return values[key];
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::string> values;
};

} // namespace etc::runtime::test

#endif // ETC_TEST_STOREFIXTURE_H
