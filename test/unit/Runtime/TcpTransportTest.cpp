// State over TCP, between threads that are participants: what arrives, who is
// not let in, and how waits end. P4 and P10 of docs/reliability.md.

#include "core/transport/TcpTransport.h"
#include "core/net/Socket.h"
#include "core/transport/LocalTransport.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <latch>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <random>
#include <thread>

using namespace etc::runtime;
using Clock = std::chrono::steady_clock;

namespace {

constexpr Milliseconds kPatience{20'000};

/// Control where something happens before an invitation goes out.
class TappedControl final : public Control {
public:
  using Tap = std::function<void(const Address &)>;

  TappedControl(Control &inner, Tap tap) : inner(inner), tap(std::move(tap)) {}

  Status send(uint32_t peer, Bytes message) override {
    // The host, in numbers, and the port.
    constexpr size_t hostBytes = 252;
    Address address{reinterpret_cast<const char *>(message.data())};
    std::memcpy(&address.port, message.data() + hostBytes, sizeof(uint16_t));
    if (tap)
      tap(address);
    return inner.send(peer, message);
  }
  Status receive(uint32_t peer, WritableBytes message,
                 const Deadline &deadline) override {
    return inner.receive(peer, message, deadline);
  }
  Status decide(const std::function<Status()> &note) override {
    return inner.decide(note);
  }
  Status awaitDecision(const Deadline &deadline) override {
    return inner.awaitDecision(deadline);
  }
  Status check() override { return inner.check(); }
  std::optional<uint32_t> culprit() const override { return inner.culprit(); }
  void abort(std::string_view cause) override { inner.abort(cause); }

private:
  Control &inner;
  const Tap tap;
};

class TcpTransportTest : public testing::TestWithParam<bool> {
protected:
  /// Runs body(transport, rank) where every rank sends to every other one.
  template <typename Body> void onRanks(uint32_t count, Body body) {
    std::vector<uint32_t> devices(count);
    for (uint32_t rank = 0; rank != count; ++rank)
      devices[rank] = 10 + rank;
    LocalCluster cluster(devices);
    std::vector<std::jthread> threads;
    for (uint32_t rank = 0; rank != count; ++rank)
      threads.emplace_back([&, rank] {
        TappedControl control(cluster.control(rank), tap);
        auto transport = makeTcpTransport(
            {rank, devices, "127.0.0.1", GetParam(), &control});
        std::vector<uint32_t> others;
        for (uint32_t other = 0; other != count; ++other)
          if (other != rank)
            others.push_back(other);
        ASSERT_EQ(transport->prepare({others, others}, kPatience).message(),
                  "");
        body(*transport, rank);
      });
  }

  TappedControl::Tap tap;
};

std::vector<std::byte> randomBytes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte &byte : bytes)
    byte = static_cast<std::byte>(random());
  return bytes;
}

/// Sizes of pieces that both ends know.
std::vector<size_t> pieceSizes(uint32_t from, uint32_t to, int group) {
  std::mt19937_64 random(from * 1000 + to * 10 + group);
  std::vector<size_t> sizes(1 + random() % 5);
  for (size_t &size : sizes)
    size = 1 + random() % (random() % 2 ? 100 : 3'000'000);
  return sizes;
}

uint64_t seedOf(uint32_t from, uint32_t to, int group, size_t piece) {
  return ((from * 100 + to) * 100 + group) * 100 + piece;
}

void exchange(Transport &transport, uint32_t rank, uint32_t count, int group) {
  struct Side {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<Bytes> pieces;
    std::vector<WritableBytes> rooms;
    size_t taken = 0;
  };
  std::vector<Side> out(count), in(count);
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (uint32_t peer = 0; peer != count; ++peer) {
    if (peer == rank)
      continue;
    for (size_t size : pieceSizes(rank, peer, group))
      out[peer].pieces.emplace_back(out[peer].bytes.emplace_back(size));
    for (size_t size : pieceSizes(peer, rank, group))
      in[peer].rooms.emplace_back(in[peer].bytes.emplace_back(size));
    // A piece is filled just before it is sent.
    outgoing.push_back({peer, 0, out[peer].pieces, {}, [&, peer](size_t i) {
                          auto &bytes = out[peer].bytes[i];
                          bytes = randomBytes(bytes.size(),
                                              seedOf(rank, peer, group, i));
                          out[peer].pieces[i] = bytes;
                          return Status::success();
                        }});
    incoming.push_back({peer, 0, in[peer].rooms, {}, [&, peer](size_t i) {
                          EXPECT_EQ(i, in[peer].taken++);
                          EXPECT_EQ(in[peer].bytes[i],
                                    randomBytes(in[peer].bytes[i].size(),
                                                seedOf(peer, rank, group, i)));
                          return Status::success();
                        }});
  }
  ASSERT_TRUE(transport.post(outgoing, incoming).ok());
  ASSERT_EQ(transport.wait(kPatience).message(), "");
  for (uint32_t peer = 0; peer != count; ++peer)
    EXPECT_EQ(in[peer].taken, in[peer].rooms.size());
}

TEST_P(TcpTransportTest, CarriesGroupsOfMessages) {
  onRanks(4, [](Transport &transport, uint32_t rank) {
    for (int group = 0; group != 5; ++group)
      exchange(transport, rank, 4, group);
  });
}

TEST_P(TcpTransportTest, StrangersWhoComeFirstHarmNobody) {
  std::mutex mutex;
  std::vector<Socket> strangers; // who stay
  tap = [&](const Address &address) {
    std::lock_guard lock(mutex);
    for (int i = 0; i != 300; ++i) {
      auto socket = connectTo(address, Clock::now() + kPatience);
      ASSERT_TRUE(socket.ok());
      // Silent; noise; the right greeting with a ticket that was made up.
      std::string said(i % 3 == 0 ? 0 : 4096, '\xff');
      if (i % 3 == 2) {
        said.assign("ETCDATA1");
        said.append("\1\0\0\0\0\0\0\0", 8);
        said.append(64, 'x');
      }
      socket->send(said);
      strangers.push_back(std::move(*socket));
    }
  };
  onRanks(2, [](Transport &transport, uint32_t rank) {
    exchange(transport, rank, 2, 0);
  });
}

/// So many that the oldest go, while the sender waits for another receiver.
TEST_P(TcpTransportTest, StrangersWhoComeLaterHarmNobody) {
  LocalCluster cluster({10, 11, 12});
  const std::vector<uint32_t> sender{0}, receivers{1, 2};
  std::latch isInvited{1};
  Address first;
  std::vector<Socket> strangers; // who stay
  auto prepare = [&](uint32_t rank, const TappedControl::Tap &tap) {
    TappedControl control(cluster.control(rank), tap);
    auto transport = makeTcpTransport(
        {rank, {10, 11, 12}, "127.0.0.1", GetParam(), &control});
    const Preparation links =
        rank == 0 ? Preparation{receivers, {}} : Preparation{{}, sender};
    EXPECT_EQ(transport->prepare(links, kPatience).message(), "");
  };
  std::jthread one([&] {
    prepare(1, [&](const Address &address) {
      first = address;
      isInvited.count_down();
    });
  });
  std::jthread two([&] {
    prepare(2, [&](const Address &) {
      isInvited.wait();
      std::this_thread::sleep_for(Milliseconds(200)); // the sender is there
      for (int i = 0; i != 300; ++i) {
        auto socket = connectTo(first, Clock::now() + Milliseconds(200));
        if (!socket)
          break; // all have met there
        strangers.push_back(std::move(*socket));
      }
      std::this_thread::sleep_for(Milliseconds(500)); // all are taken
    });
  });
  prepare(0, {});
}

TEST_P(TcpTransportTest, AbortEndsEveryWait) {
  onRanks(2, [](Transport &transport, uint32_t rank) {
    if (rank == 1)
      return transport.abort();
    std::byte room;
    WritableBytes piece(&room, 1);
    Incoming message{1, 1, {&piece, 1}, {}};
    ASSERT_TRUE(transport.post({}, {&message, 1}).ok());
    EXPECT_EQ(transport.wait(kPatience).message(),
              "lost the connection to device 11");
    EXPECT_EQ(transport.culprit(), 1u);
  });
}

TEST_P(TcpTransportTest, AReceiverThatIsSilentIsNamed) {
  // More than the buffers of a connection hold. Made before the receiver's
  // silence begins: where memory is slow to come, it takes longer than that.
  const std::vector<std::byte> bytes(100'000'000);
  onRanks(2, [&](Transport &transport, uint32_t rank) {
    if (rank == 1)
      return std::this_thread::sleep_for(Milliseconds(400));
    Bytes piece = bytes;
    Outgoing message{1, bytes.size(), {&piece, 1}, {}};
    ASSERT_TRUE(transport.post({&message, 1}, {}).ok());
    EXPECT_EQ(transport.wait(Milliseconds(50)).message(),
              "no answer from device 11 within 0.05 s");
    EXPECT_EQ(transport.culprit(), 1u);
  });
}

/// What ends when this end gives up is no cause.
TEST_P(TcpTransportTest, TheErrorAndTheCulpritAreOfOnePeer) {
  const std::vector<std::byte> bytes(100'000'000);
  onRanks(3, [&](Transport &transport, uint32_t rank) {
    if (rank != 0)
      return std::this_thread::sleep_for(Milliseconds(400));
    Bytes piece = bytes;
    Outgoing sent{1, bytes.size(), {&piece, 1}, {}};
    std::byte room;
    WritableBytes space(&room, 1);
    Incoming received{2, 1, {&space, 1}, {}};
    ASSERT_TRUE(transport.post({&sent, 1}, {&received, 1}).ok());
    EXPECT_EQ(transport.wait(Milliseconds(50)).message(),
              "no answer from device 12 within 0.05 s");
    EXPECT_EQ(transport.culprit(), 2u);
  });
}

TEST_P(TcpTransportTest, WritingToAPeerThatIsGoneEndsNoProcess) {
  auto before = ::signal(SIGPIPE, SIG_DFL);
  onRanks(2, [](Transport &transport, uint32_t rank) {
    if (rank == 1)
      return;
    std::vector<std::byte> bytes(100'000'000);
    Bytes piece = bytes;
    Outgoing message{1, bytes.size(), {&piece, 1}, {}};
    ASSERT_TRUE(transport.post({&message, 1}, {}).ok());
    EXPECT_EQ(transport.wait(kPatience).message(),
              "lost the connection to device 11");
  });
  ::signal(SIGPIPE, before);
}

TEST_P(TcpTransportTest, NamesWhoDoesNotCome) {
  LocalCluster cluster({4, 9});
  const std::vector<uint32_t> other{1};
  auto transport = makeTcpTransport(
      {0, {4, 9}, "127.0.0.1", GetParam(), &cluster.control(0)});
  EXPECT_EQ(transport->prepare({{}, other}, Milliseconds(50)).message(),
            "device 9 has not connected within 0.05 s");
  cluster.control(1).abort("device 9: no room");
  EXPECT_EQ(transport->prepare({{}, other}, kPatience).message(),
            "stopped, since another device failed");
}

TEST(TcpTransport, AllEncryptOrNone) {
  LocalCluster cluster({4, 9});
  const std::vector<uint32_t> first{0}, second{1};
  std::jthread receiver([&] {
    auto transport =
        makeTcpTransport({1, {4, 9}, "127.0.0.1", true, &cluster.control(1)});
    EXPECT_FALSE(transport->prepare({{}, first}, kPatience).ok());
  });
  auto transport =
      makeTcpTransport({0, {4, 9}, "127.0.0.1", false, &cluster.control(0)});
  EXPECT_EQ(transport->prepare({second, {}}, kPatience).message(),
            "device 9 encrypts state, this one does not; give all processes "
            "the same option");
  cluster.control(0).abort({});
}

INSTANTIATE_TEST_SUITE_P(Tcp, TcpTransportTest, testing::Bool(),
                         [](const auto &info) {
                           return info.param ? "Encrypted" : "Clear";
                         });

/// Whatever this host's default is.
TEST(TcpTransport, NothingIsPacedWithinAHost) {
  for (const char *host : {"127.0.0.1", "127.0.1.1", "::1"}) {
    Address address{host, 0};
    Result<Socket> listener = listenAt(address);
    if (!listener)
      continue; // a machine without IPv6
    Result<Socket> from = connectTo(address, Clock::now() + kPatience);
    ASSERT_TRUE(from) << from.status().message();
    pollfd entry{listener->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
    Socket to = accept(*listener);
    for (const Socket *end : {&*from, &to}) {
      char name[16] = "";
      socklen_t length = sizeof name;
      ASSERT_EQ(
          ::getsockopt(end->fd(), IPPROTO_TCP, TCP_CONGESTION, name, &length),
          0);
      EXPECT_STREQ(name, "reno") << host;
    }
  }
}

/// A packet of its own for what little is left of each piece would cost both
/// ends as much as a full one.
TEST(TcpTransport, WhatHasMoreBehindItWaitsForIt) {
  Address address;
  Result<Socket> listener = listenAt(address);
  ASSERT_TRUE(listener) << listener.status().message();
  Result<Socket> from = connectTo(address, Clock::now() + kPatience);
  ASSERT_TRUE(from) << from.status().message();
  pollfd entry{listener->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
  Socket to = accept(*listener);
  const std::vector<std::byte> bytes(100);
  EXPECT_EQ(from->write(bytes, /*hasMore=*/true), 100u);
  // Far less than the 200 ms after which Linux sends it all the same.
  entry = {to.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 10), 0);
  EXPECT_EQ(from->write(bytes), 100u);
  EXPECT_EQ(::poll(&entry, 1, 10'000), 1);
  std::vector<std::byte> room(300);
  EXPECT_EQ(to.read(room), 200u);
}

} // namespace
