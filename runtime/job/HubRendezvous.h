// Values that pass through the hub.

#ifndef ETC_RUNTIME_JOB_HUBRENDEZVOUS_H
#define ETC_RUNTIME_JOB_HUBRENDEZVOUS_H

#include "job/Client.h"
#include "job/Rendezvous.h"

namespace etc::runtime {

/// Waits end where the hub stops all.
class HubRendezvous final : public Rendezvous {
public:
  explicit HubRendezvous(Client &client) : client(client) {}

  Status put(const std::string &key, const std::string &value) override {
    client.put(key, value);
    return Status::success();
  }
  Result<std::string> putFirst(const std::string &,
                               const std::string &) override {
    return Status(ErrorKind::Usage, "a hub has one process that decides");
  }
  Result<std::string> get(const std::string &key,
                          const Deadline &deadline) override {
    return client.get(key, deadline.left());
  }

private:
  Client &client;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_HUBRENDEZVOUS_H
