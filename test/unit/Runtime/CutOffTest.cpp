// A listener with too many strangers closes the oldest connections, of whomever
// they are. A process of the job connects again.

#include "StoreFixture.h"

#include "core/net/Socket.h"
#include "job/Client.h"
#include "job/PeerControl.h"

#include <gtest/gtest.h>

#include <thread>

using namespace etc::runtime;

namespace {

constexpr Milliseconds kPatience{20'000};
constexpr int kTimes = 3;

/// Closes the first connections to it.
void cutOff(const Socket &listener) {
  for (int i = 0; i != kTimes;)
    i += accept(listener).isOpen();
}

TEST(CutOff, AClientOfAHub) {
  const ControlTimes times{kPatience, Milliseconds(20), kPatience};
  const Secret secret = *makeSecret("the right secret");
  auto lost = [](uint32_t, uint32_t) { return std::string(); };
  Address address;
  Result<Socket> listener = listenAt(address);
  ASSERT_TRUE(listener.ok());
  Result<std::unique_ptr<Client>> joined(Status(ErrorKind::Peer, ""));
  std::unique_ptr<Hub> hub; // it waits for the client
  std::jthread client([&] {
    ClientOptions options{address, secret, {}, times, lost, {}};
    options.hello.rankCount = 1;
    joined = Client::join(options);
    EXPECT_EQ(joined.status().message(), "");
  });
  cutOff(*listener);
  hub = std::make_unique<Hub>(std::move(*listener),
                              HubOptions{"here", secret, 1, times, lost});
  client.join();
  joined = Status(ErrorKind::Peer, "");
}

/// Has the address of a crowded listener at first.
class CrowdedStore final : public Rendezvous {
public:
  CrowdedStore(Rendezvous &inner, std::string crowded)
      : inner(inner), crowded(std::move(crowded)) {}

  Status put(const std::string &key, const std::string &value) override {
    return inner.put(key, value);
  }
  Result<std::string> putFirst(const std::string &key,
                               const std::string &value) override {
    return inner.putFirst(key, value);
  }
  Result<std::string> get(const std::string &key,
                          const Deadline &deadline) override {
    if (key == "job/0" && asked++ < kTimes)
      return crowded;
    return inner.get(key, deadline);
  }

private:
  Rendezvous &inner;
  const std::string crowded;
  int asked = 0;
};

PeerControlOptions optionsOf(uint32_t rank, Rendezvous &store) {
  PeerControlOptions made;
  made.rank = rank;
  made.devices = {10, 11};
  made.rendezvous = &store;
  made.host = "127.0.0.1";
  made.deadline = kPatience;
  return made;
}

TEST(CutOff, APeer) {
  Address address;
  Result<Socket> listener = listenAt(address);
  ASSERT_TRUE(listener.ok());
  test::Store store;
  CrowdedStore crowded(store, address.describe());
  std::jthread closing([&] { cutOff(*listener); });
  std::jthread late([&] {
    auto control = connectPeerControl(optionsOf(1, crowded));
    EXPECT_EQ(control.status().message(), "");
  });
  auto control = connectPeerControl(optionsOf(0, store));
  EXPECT_EQ(control.status().message(), "");
}

} // namespace
