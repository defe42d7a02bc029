// Control between processes: connections from each to those that it talks to.

#include "DescriptorLimit.h"
#include "StoreFixture.h"

#include "job/PeerControl.h"

#include "core/net/Socket.h"
#include "core/transport/Collectives.h"
#include "job/PeerChannel.h"

#include <gtest/gtest.h>

#include <latch>
#include <mutex>
#include <set>
#include <thread>

using namespace etc::runtime;
using namespace etc::runtime::test;

namespace {

constexpr Milliseconds kPatience{20'000};

class PeerControlTest : public testing::Test {
protected:
  PeerControlOptions options(uint32_t rank, uint32_t count) {
    PeerControlOptions made;
    made.rank = rank;
    for (uint32_t other = 0; other != count; ++other)
      made.devices.push_back(10 + other);
    made.rendezvous = &store;
    made.host = "127.0.0.1";
    made.deadline = kPatience;
    return made;
  }

  /// Runs body(control, rank) on ranks where each talks to its neighbours.
  template <typename Body> void onRanks(uint32_t count, Body body) {
    std::vector<std::jthread> threads;
    for (uint32_t rank = 0; rank != count; ++rank)
      threads.emplace_back([=, this] {
        PeerControlOptions mine = options(rank, count);
        mine.peers = {(rank + 1) % count, (rank + count - 1) % count};
        auto control = connectPeerControl(mine);
        ASSERT_EQ(control.status().message(), "");
        body(std::move(*control), rank);
      });
  }

  Store store;
};

TEST_F(PeerControlTest, MessagesArriveInOrder) {
  onRanks(4, [](std::unique_ptr<Control> control, uint32_t rank) {
    const uint32_t next = (rank + 1) % 4, last = (rank + 3) % 4;
    for (uint64_t i = 0; i != 100; ++i) {
      const PeerHash told{next, 1000 * rank + i};
      ASSERT_TRUE(sendHashes(*control, {&told, 1}).ok());
    }
    for (uint64_t i = 0; i != 100; ++i) {
      PeerHash heard{last, 0};
      ASSERT_EQ(receiveHashes(*control, {&heard, 1}, kPatience).message(), "");
      EXPECT_EQ(heard.hash, 1000 * last + i);
    }
  });
}

/// With whatever room, a process has control or says why not, at once.
TEST_F(PeerControlTest, DescriptorsThatAreNotThere) {
  std::string first;
  for (rlim_t room = 0; room != 8; ++room) {
    const etc::test::DescriptorLimit limit(etc::test::nextDescriptor() + room);
    auto control = connectPeerControl(options(0, 1));
    if (room == 0)
      first = control.status().message();
    EXPECT_TRUE(control ||
                control.status().message().ends_with(
                    "Too many open files; raise the limit (ulimit -n)"))
        << control.status().message();
  }
  EXPECT_EQ(first, "cannot watch for the end of a change: Too many open files; "
                   "raise the limit (ulimit -n)");
}

TEST_F(PeerControlTest, AllMeetAtRankZero) {
  std::atomic<int> here{0};
  onRanks(5, [&](std::unique_ptr<Control> control, uint32_t rank) {
    ++here;
    auto decide = [&] {
      EXPECT_EQ(here, 5);
      return Status::success();
    };
    ASSERT_EQ(decideTogether(*control, {rank, 5}, kPatience, decide).message(),
              "");
    // Longer than a connection takes at once.
    std::vector<std::byte> record(300'000, std::byte(rank)), all;
    all.resize(rank == 0 ? 5 * record.size() : 0);
    ASSERT_EQ(gather(*control, {rank, 5}, record, all, kPatience).message(),
              "");
    for (size_t i = 0; i != all.size(); ++i)
      ASSERT_EQ(all[i], std::byte(i / record.size()));
  });
}

TEST_F(PeerControlTest, WhoLeavesInOrderStopsNobody) {
  onRanks(3, [](std::unique_ptr<Control> control, uint32_t rank) {
    if (rank == 2) {
      EXPECT_TRUE(control->send(1, {}).ok());
      return;
    }
    if (rank == 0) {
      EXPECT_EQ(control->receive(1, {}, kPatience).message(), "");
      return;
    }
    // What was said before the end counts.
    EXPECT_EQ(control->receive(2, {}, kPatience).message(), "");
    EXPECT_EQ(control->receive(2, {}, kPatience).message(),
              "device 12 has left");
    EXPECT_EQ(control->check().message(), "");
    EXPECT_TRUE(control->send(0, {}).ok());
  });
}

TEST_F(PeerControlTest, AbortEndsAllWaits) {
  std::latch connected(3);
  onRanks(3, [&](std::unique_ptr<Control> control, uint32_t rank) {
    connected.arrive_and_wait();
    if (rank == 1)
      control->abort({});
    EXPECT_EQ(control->receive((rank + 1) % 3, {}, kPatience).message(),
              "stopped, since another device failed");
    EXPECT_FALSE(control->check().ok());
  });
}

TEST_F(PeerControlTest, AllLearnTheFirstCause) {
  constexpr uint32_t count = 6;
  std::latch connected(count);
  onRanks(count, [&](std::unique_ptr<Control> control, uint32_t rank) {
    connected.arrive_and_wait();
    const std::string cause = "no room\nfor " + std::string(5000, 'x');
    if (rank == 3) {
      const Status status = giveUp(*control, 13, {ErrorKind::Usage, cause});
      EXPECT_EQ(status.kind(), ErrorKind::Usage);
      return;
    }
    // Rank 1 hears of it from rank 0.
    const Status error = control->receive((rank + 1) % count, {}, kPatience);
    EXPECT_EQ(error.kind(), ErrorKind::Peer);
    const Status status = giveUp(*control, 10 + rank, error);
    EXPECT_EQ(status.kind(), ErrorKind::Peer);
    EXPECT_EQ(status.message(),
              ("device 13: no room for " + std::string(5000, 'x'))
                  .substr(0, Control::kMostCauseBytes));
    EXPECT_EQ(control->cause(), status.message());
  });
}

/// Each sees a failure in its own way, as connections break one after the
/// other.
TEST_F(PeerControlTest, AllNameOneCause) {
  constexpr uint32_t count = 6;
  std::latch connected(count);
  std::mutex mutex;
  std::set<std::string> causes;
  onRanks(count, [&](std::unique_ptr<Control> control, uint32_t rank) {
    connected.arrive_and_wait();
    const Status error(ErrorKind::Peer, text("broken pipe of ", rank));
    const Status status = giveUp(*control, 10 + rank, error);
    EXPECT_EQ(status.kind(), ErrorKind::Peer);
    std::lock_guard lock(mutex);
    causes.insert(status.message());
  });
  EXPECT_EQ(causes.size(), 1u) << ::testing::PrintToString(causes);
}

TEST_F(PeerControlTest, ADeviceIsNamedOnce) {
  onRanks(2, [&](std::unique_ptr<Control> control, uint32_t rank) {
    if (rank == 1) {
      (void)giveUp(*control, 11, {ErrorKind::Usage, "device 11: round 2: no"});
      return;
    }
    const Status error = control->receive(1, {}, kPatience);
    EXPECT_EQ(giveUp(*control, 10, error).message(), "device 11: round 2: no");
  });
}

TEST_F(PeerControlTest, AWayOutWithoutACauseIsNamedAsItWasSeen) {
  onRanks(2, [&](std::unique_ptr<Control> control, uint32_t rank) {
    if (rank == 1)
      return control->abort({});
    const Status error = control->receive(1, {}, kPatience);
    EXPECT_EQ(giveUp(*control, 10, error).message(),
              "device 10: " + error.message());
  });
}

TEST_F(PeerControlTest, ALateAnswerIsNamed) {
  onRanks(2, [](std::unique_ptr<Control> control, uint32_t rank) {
    if (rank == 1) {
      (void)control->receive(0, {}, kPatience); // until rank 0 leaves
      return;
    }
    Status status = control->receive(1, {}, Milliseconds(50));
    EXPECT_EQ(status.message(), "no answer from device 11 within 0.05 s");
    EXPECT_EQ(control->culprit(), 1u);
  });
}

TEST_F(PeerControlTest, AMessageOfAnotherLengthIsRefused) {
  onRanks(2, [](std::unique_ptr<Control> control, uint32_t rank) {
    std::byte bytes[8]{};
    if (rank == 1) {
      EXPECT_TRUE(control->send(0, bytes).ok());
      return;
    }
    EXPECT_EQ(control->receive(1, {}, kPatience).message(),
              "device 11 sent 8 bytes of control, 0 were expected");
  });
}

TEST_F(PeerControlTest, StrangersAreNotHeard) {
  // One says nothing, one something of the right length, before rank 1 comes.
  std::jthread others([&] {
    const Address address = *parseAddress(*store.get("job/0", kPatience));
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    auto silent = connectTo(address, deadline);
    auto liar = connectTo(address, deadline);
    std::string lie = "ETCPEER2" + std::string(72, 'x');
    lie.resize(84);
    EXPECT_TRUE(liar->send(lie));
    std::string answer;
    while (liar->receive(answer))
      std::this_thread::sleep_for(Milliseconds(5));
    EXPECT_EQ(answer, "");
    auto control = connectPeerControl(options(1, 2));
    EXPECT_EQ(control.status().message(), "");
  });
  auto control = connectPeerControl(options(0, 2));
  EXPECT_EQ(control.status().message(), "");
}

TEST_F(PeerControlTest, SilentConnectionsDoNotStopTheMeeting) {
  // This process has both ends of each.
  const etc::test::DescriptorLimit limit(900);
  std::jthread others([&] {
    const Address address = *parseAddress(*store.get("job/0", kPatience));
    std::vector<Socket> silent;
    for (int i = 0; i != 500; ++i) {
      auto socket =
          connectTo(address, std::chrono::steady_clock::now() + kPatience);
      ASSERT_EQ(socket.status().message(), "");
      silent.push_back(std::move(*socket));
    }
    auto control = connectPeerControl(options(1, 2));
    EXPECT_EQ(control.status().message(), "");
  });
  auto control = connectPeerControl(options(0, 2));
  EXPECT_EQ(control.status().message(), "");
}

TEST_F(PeerControlTest, NamesWhoDoesNotCome) {
  PeerControlOptions alone = options(0, 2);
  alone.deadline = Milliseconds(50);
  EXPECT_EQ(connectPeerControl(alone).status().message(),
            "device 11 has not connected within 0.05 s");
  alone.deadline = kPatience;
  alone.check = [] { return Status(ErrorKind::Peer, "called off"); };
  EXPECT_EQ(connectPeerControl(alone).status().message(), "called off");
}

TEST_F(PeerControlTest, AnAddressThatNobodyReachesIsNamed) {
  // What a host says that takes its own name for a loopback address, or that an
  // earlier run left.
  ASSERT_TRUE(store.put("job/secret", std::string(64, 'x')).ok());
  ASSERT_TRUE(store.put("job/0", "127.0.0.1:1").ok());
  PeerControlOptions other = options(1, 2);
  other.deadline = Milliseconds(50);
  EXPECT_EQ(connectPeerControl(other).status().message(),
            "device 10 does not answer within 0.05 s: job/0 names 127.0.0.1:1, "
            "where nobody listens; if an earlier run left it, remove it, or "
            "use another tag or an empty directory; --host (host in C and "
            "Python) sets the address that others reach it at");
}

TEST_F(PeerControlTest, AnEarlierChangeIsExcluded) {
  // It knows the secret and where the others are.
  std::jthread late([&] {
    PeerControlOptions mine = options(2, 3);
    mine.generation = 6;
    const Status status = connectPeerControl(mine).status();
    EXPECT_EQ(status.kind(), ErrorKind::Excluded);
    EXPECT_EQ(status.message(), "the others went on without this process: "
                                "change 6 is over, this is change 7");
    mine.generation = 7;
    EXPECT_EQ(connectPeerControl(mine).status().message(), "");
  });
  std::jthread other([&] {
    PeerControlOptions mine = options(1, 3);
    mine.generation = 7;
    EXPECT_EQ(connectPeerControl(mine).status().message(), "");
  });
  PeerControlOptions mine = options(0, 3);
  mine.generation = 7;
  EXPECT_EQ(connectPeerControl(mine).status().message(), "");
}

TEST_F(PeerControlTest, ALaterChangeExcludes) {
  std::jthread next([&] {
    PeerControlOptions mine = options(1, 2);
    mine.generation = 8;
    mine.deadline = Milliseconds(500);
    EXPECT_FALSE(connectPeerControl(mine).ok());
  });
  PeerControlOptions mine = options(0, 2);
  mine.generation = 7;
  EXPECT_EQ(connectPeerControl(mine).status().message(),
            "the others went on without this process: it is at change 7, they "
            "are at 8");
}

/// A connection that ends because the peer had not read all: what it said
/// before is still there when a write fails.
TEST(PeerChannel, WhoCannotWriteReadsWhatWasSaid) {
  const Deadline deadline(kPatience);
  Address address;
  auto listener = listenAt(address);
  ASSERT_TRUE(listener.ok());
  auto connected = connectTo(address, deadline.time());
  ASSERT_TRUE(connected.ok());
  Socket accepted;
  while (!accepted.isOpen() && !deadline.isOver())
    accepted = accept(*listener);
  const Secret secret = *makeSecret("0123456789abcdef");
  connected->secure(TlsSide::Connecting, secret);
  accepted.secure(TlsSide::Accepting, secret);
  PeerChannel mine(std::move(*connected), 1);
  {
    PeerChannel theirs(std::move(accepted), 1);
    for (mine.add("read"); theirs.inbox.empty() && !deadline.isOver();) {
      mine.receive();
      mine.flush();
      theirs.receive();
    }
    mine.add("unread");
    mine.flush();
    theirs.addGivingUp({"device 3: no room", {}});
    theirs.flush();
  }
  while (mine.end() == PeerChannel::End::None && !deadline.isOver()) {
    mine.add("more");
    mine.flush();
  }
  EXPECT_EQ(mine.end(), PeerChannel::End::GaveUp);
  EXPECT_EQ(mine.failure().cause, "device 3: no room");
}

} // namespace
