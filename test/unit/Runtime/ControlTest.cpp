// The control channel: P3, P4, P10 and P11 of docs/reliability.md.

#include "DescriptorLimit.h"

#include "job/Client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace etc::runtime;
using etc::test::DescriptorLimit;
using etc::test::nextDescriptor;
using Clock = std::chrono::steady_clock;

namespace {

constexpr Milliseconds kPatience{20'000};

Secret secretOf(const char *text) { return *makeSecret(text); }

/// A hub and what connects to it.
class ControlTest : public testing::Test {
protected:
  void open(uint32_t count, Milliseconds meeting = kPatience,
            Milliseconds silence = kPatience) {
    times = {meeting, Milliseconds(20), silence};
    Result<Socket> listener = listenAt(address);
    ASSERT_TRUE(listener.ok()) << listener.status().message();
    hub = std::make_unique<Hub>(
        std::move(*listener),
        HubOptions{"here", secretOf("the right secret"), count, times, lost});
  }

  static std::string lost(uint32_t rank, uint32_t round) {
    return text("rank ", rank, ": round ", static_cast<int32_t>(round));
  }

  ClientOptions options(uint32_t rank, uint32_t count) {
    ClientOptions made{address, secretOf("the right secret"), {}, times, lost,
                       {}};
    made.hello.rank = rank;
    made.hello.rankCount = count;
    return made;
  }

  /// Joins all at once.
  std::vector<Result<std::unique_ptr<Client>>>
  joinAll(std::vector<ClientOptions> all) {
    std::vector<std::optional<Result<std::unique_ptr<Client>>>> joined(
        all.size());
    {
      std::vector<std::jthread> threads;
      for (size_t i = 0; i != all.size(); ++i)
        threads.emplace_back(
            [&, i] { joined[i].emplace(Client::join(all[i])); });
    }
    std::vector<Result<std::unique_ptr<Client>>> out;
    out.reserve(joined.size());
    for (auto &one : joined)
      out.push_back(std::move(*one));
    return out;
  }

  /// A connection to the hub.
  Socket connect(const char *secret = "the right secret") const {
    Socket socket = std::move(*connectTo(address, Clock::now() + kPatience));
    socket.secure(TlsSide::Connecting, secretOf(secret));
    return socket;
  }

  /// What the other side answers to these bytes; empty at the end.
  static std::string ask(const Socket &socket, std::string bytes) {
    std::string answer;
    while (socket.receive(answer) && answer.empty()) {
      if (!socket.send(bytes))
        break;
      std::this_thread::sleep_for(Milliseconds(5));
    }
    return answer;
  }

  Address address;
  ControlTimes times;
  std::unique_ptr<Hub> hub; // after the clients: it waits for them
};

std::string bytesOf(const Hello &hello) {
  return {reinterpret_cast<const char *>(&hello), sizeof hello};
}

TEST_F(ControlTest, TellsEverybodyHowFarAllAre) {
  open(2);
  std::vector<ClientOptions> all{options(0, 2), options(1, 2)};
  Standing standing;
  standing.isFilled = true;
  standing.landed = 5;
  standing.acknowledged = 4;
  setStanding(all[1].hello, standing);
  auto joined = joinAll(all);
  ASSERT_TRUE(joined[0].ok() && joined[1].ok());
  const Standing &known = (*joined[0])->standings()[1];
  EXPECT_EQ(known.landed, 5u);
  EXPECT_EQ(known.released, 4u);
  EXPECT_TRUE(known.isFilled);
  EXPECT_FALSE((*joined[1])->standings()[0].isFilled);
}

TEST_F(ControlTest, SignsOfLifeGoOnAfterGoodbye) {
  open(2);
  std::atomic<uint32_t> beats = 0;
  auto all = std::vector{options(0, 2), options(1, 2)};
  all[0].onBeat = [&] { ++beats; };
  auto joined = joinAll(std::move(all));
  ASSERT_TRUE(joined[0].ok() && joined[1].ok());
  (*joined[0])->leave();
  std::this_thread::sleep_for(Milliseconds(200)); // it has said goodbye
  const uint32_t before = beats;
  for (int i = 0; i != 200 && beats == before; ++i)
    std::this_thread::sleep_for(Milliseconds(50));
  EXPECT_GT(beats, before);
}

TEST_F(ControlTest, PassesValuesOn) {
  open(2);
  auto joined = joinAll({options(0, 2), options(1, 2)});
  std::jthread giver([&] { (*joined[0])->put("a", std::string("b\0c", 3)); });
  EXPECT_EQ(*(*joined[1])->get("a", kPatience), std::string("b\0c", 3));
  EXPECT_EQ((*joined[1])->get("z", Milliseconds(30)).status().message(),
            "no z within 0.03 s");
}

TEST_F(ControlTest, StrangersAreNotHeard) {
  open(1);
  const std::string hello = bytesOf(options(0, 1).hello);
  EXPECT_EQ(ask(connect("the wrong secret"), hello), "");
  // In clear, and something else.
  Socket clear = std::move(*connectTo(address, Clock::now() + kPatience));
  EXPECT_EQ(ask(clear, hello), "");
  Hello wrong = options(0, 1).hello;
  wrong.magic[0] = 'X';
  EXPECT_EQ(ask(connect(), bytesOf(wrong)), "");
  EXPECT_EQ(ask(connect(), std::string(4096, 'x')), "");
  EXPECT_TRUE(Client::join(options(0, 1)).ok());
}

TEST_F(ControlTest, AWrongTokenIsNamed) {
  open(1);
  ClientOptions wrong = options(0, 1);
  wrong.secret = secretOf("the wrong secret");
  EXPECT_EQ(Client::join(wrong).status().message(),
            "no answer from " + address.describe() +
                ": it is not a process of this job, or it has another token");
  EXPECT_TRUE(Client::join(options(0, 1)).ok());
}

TEST_F(ControlTest, SilentConnectionsDoNotStopTheMeeting) {
  // At 64 connections for 5 s each, as it was, the meeting was over first.
  open(2, Milliseconds(20'000));
  std::vector<Socket> silent;
  for (int i = 0; i != 500; ++i) {
    Result<Socket> socket =
        connectTo(address, std::chrono::steady_clock::now() + kPatience);
    ASSERT_TRUE(socket.ok());
    silent.push_back(std::move(*socket));
  }
  auto joined = joinAll({options(0, 2), options(1, 2)});
  EXPECT_EQ(joined[0].status().message(), "");
  EXPECT_EQ(joined[1].status().message(), "");
}

TEST_F(ControlTest, ASecondGreetingHarmsNobody) {
  open(2);
  auto joined = joinAll({options(0, 2), options(1, 2)});
  ASSERT_TRUE(joined[0].ok() && joined[1].ok());
  bool areAllTold = true;
  EXPECT_EQ(Client::join(options(1, 2), &areAllTold).status().message(),
            "the processes have met, and one is rank 1");
  EXPECT_FALSE(areAllTold);
  (*joined[0])->put("a", "b");
  EXPECT_EQ(*(*joined[1])->get("a", kPatience), "b");
}

TEST_F(ControlTest, Secrets) {
  EXPECT_EQ(makeSecret("short").status().message(),
            "a job token has from 16 to 64 characters, got 5");
  EXPECT_EQ(randomSecretText().size(), 64u);
  EXPECT_NE(randomSecretText(), randomSecretText());
}

TEST_F(ControlTest, AllHaveTheSamePlan) {
  open(2);
  std::vector<ClientOptions> all{options(0, 2), options(1, 2)};
  all[1].hello.planHash = 1;
  for (auto &joined : joinAll(all)) {
    EXPECT_EQ(joined.status().kind(), ErrorKind::Usage);
    EXPECT_EQ(joined.status().message(),
              "rank 1 has another plan than rank 0; give every process the "
              "same file");
  }
}

TEST_F(ControlTest, AllHaveTheSameMode) {
  open(2);
  std::vector<ClientOptions> all{options(0, 2), options(1, 2)};
  all[1].hello.mode = Mode::Safe;
  EXPECT_EQ(joinAll(all)[0].status().message(),
            "rank 1 has another --mode than rank 0; give every process the "
            "same");
}

TEST_F(ControlTest, AllStartInTheSameWay) {
  open(2);
  std::vector<ClientOptions> all{options(0, 2), options(1, 2)};
  all[1].hello.isResumed = 1;
  EXPECT_EQ(joinAll(all)[1].status().message(),
            "rank 1 resumes, rank 0 does not; start all in the same way");
}

TEST_F(ControlTest, RanksAreTakenOnce) {
  open(3);
  auto joined = joinAll({options(1, 3), options(1, 3)});
  EXPECT_TRUE(joined[0].status().message() == "two processes are rank 1" ||
              joined[1].status().message() == "two processes are rank 1");
}

TEST_F(ControlTest, CountsAreTheSame) {
  open(2);
  EXPECT_EQ(Client::join(options(0, 3)).status().message(),
            "a process is rank 0 of 3, the plan needs 2");
}

TEST_F(ControlTest, NamesWhoIsMissing) {
  open(3, Milliseconds(100));
  EXPECT_EQ(Client::join(options(1, 3)).status().message(),
            "not all of the 3 processes met here within 0.1 s; missing: ranks "
            "0, 2");
}

TEST_F(ControlTest, AProcessThatHasTheHubAndCannotJoinTellsAll) {
  open(2);
  std::jthread other([&] {
    EXPECT_EQ(Client::join(options(1, 2)).status().message(), "no thread");
  });
  hub->giveUp(Status(ErrorKind::Usage, "no thread"));
}

TEST_F(ControlTest, AHubThatNeverAnswersHoldsNobody) {
  Result<Socket> listener = listenAt(address);
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  times = {Milliseconds(100), Milliseconds(20), kPatience};
  EXPECT_EQ(Client::join(options(1, 2)).status().message(),
            "no welcome from " + address.describe() + " within 0.1 s");
}

TEST_F(ControlTest, AFailureStopsAllAndIsToldToAll) {
  open(2);
  auto joined = joinAll({options(0, 2), options(1, 2)});
  std::atomic<bool> isStopped = false;
  (*joined[0])->onStop([&] { isStopped = true; });
  const Status cause =
      (*joined[1])->fail(Status(ErrorKind::Usage, "device 1: cannot write"));
  EXPECT_EQ(cause.message(), "device 1: cannot write");
  while (!isStopped)
    std::this_thread::yield();
  // What follows from it is not the cause.
  EXPECT_EQ(
      (*joined[0])->fail(Status(ErrorKind::Peer, "lost rank 1")).message(),
      "device 1: cannot write");
}

TEST_F(ControlTest, ALostProcessIsTheCause) {
  open(2);
  auto joining = std::jthread([&] {
    // A process that says who it is and where, and is gone.
    ask(connect(), bytesOf(options(1, 2).hello) +
                       formatFrame(FrameKind::Beat, formatRound(6)));
  });
  auto client = Client::join(options(0, 2));
  joining.join();
  ASSERT_TRUE(client.ok()) << client.status().message();
  EXPECT_EQ((*client)->fail(Status(ErrorKind::Peer, "misses rank 1")).message(),
            "rank 1: round 6: its process is gone");
}

TEST_F(ControlTest, ASilentProcessIsTheCause) {
  open(2, kPatience, Milliseconds(300));
  Socket silent = connect();
  std::jthread greeting([&] { ask(silent, bytesOf(options(1, 2).hello)); });
  auto client = Client::join(options(0, 2));
  ASSERT_TRUE(client.ok()) << client.status().message();
  std::atomic<bool> isStopped = false;
  (*client)->onStop([&] { isStopped = true; });
  while (!isStopped)
    std::this_thread::yield();
  const std::string start = "rank 1: round -1: no sign of life for 0.";
  EXPECT_EQ((*client)
                ->fail(Status(ErrorKind::Peer, "stopped"))
                .message()
                .substr(0, start.size()),
            start);
}

TEST_F(ControlTest, FramesAreBounded) {
  FrameReader reader;
  std::string frame = formatFrame(FrameKind::Put, "x");
  frame[7] = '\x7f';
  reader.feed(frame);
  EXPECT_EQ(reader.next().status().message(),
            "a control frame of 2130706433 bytes, at most 1048576 are allowed");
  FrameReader other;
  other.feed(formatFrame(static_cast<FrameKind>(77), {}));
  EXPECT_EQ(other.next().status().message(),
            "a control frame of unknown kind 77");
}

constexpr char kRaise[] = "Too many open files; raise the limit (ulimit -n)";

TEST_F(ControlTest, OutOfDescriptorsIsNamed) {
  Address address;
  Result<Socket> listener = listenAt(address);
  Address other;
  DescriptorLimit limit(nextDescriptor());
  EXPECT_EQ(listenAt(other).status().message(),
            "cannot listen at 127.0.0.1:0: " + std::string(kRaise));
  const Status status =
      connectTo(address, Clock::now() + std::chrono::seconds(60)).status();
  EXPECT_EQ(status.kind(), ErrorKind::Usage);
  EXPECT_EQ(status.message(),
            "cannot connect to " + address.describe() + ": " + kRaise);
}

TEST_F(ControlTest, AHubOutOfDescriptorsTellsAll) {
  const std::string why =
      "cannot take the connections of 3 processes: " + std::string(kRaise);
  times = {kPatience, Milliseconds(20), kPatience};
  for (rlim_t room : {1, 2, 3}) {
    address.port = 0;
    Result<Socket> listener = listenAt(address);
    std::vector<Socket> peers;
    for (uint32_t rank = 0; rank != 3; ++rank)
      peers.push_back(connect());
    DescriptorLimit limit(nextDescriptor() + room);
    hub = std::make_unique<Hub>(
        std::move(*listener),
        HubOptions{"here", secretOf("the right secret"), 3, times, lost});
    std::vector<std::jthread> threads;
    for (uint32_t rank = 0; rank != 3; ++rank)
      threads.emplace_back([&, rank] {
        std::string told = ask(peers[rank], bytesOf(options(rank, 3).hello));
        while (told.find(why) == std::string::npos && peers[rank].receive(told))
          std::this_thread::sleep_for(Milliseconds(5));
        EXPECT_NE(told.find(why), std::string::npos)
            << "rank " << rank << " with room for " << room << ": " << told;
      });
    threads.clear();
    peers.clear();
    hub.reset();
  }
}

TEST_F(ControlTest, WhoComesLateLearnsWhyAllWereStopped) {
  open(3);
  const std::string why = "a process is rank 0 of 2, the plan needs 3";
  EXPECT_EQ(Client::join(options(0, 2)).status().message(), why);
  for (uint32_t rank : {1, 2}) {
    bool areAllTold = false;
    EXPECT_EQ(Client::join(options(rank, 3), &areAllTold).status().message(),
              why);
    EXPECT_TRUE(areAllTold);
  }
}

TEST_F(ControlTest, WhoComesAfterTheMeetingLearnsWhoWasMissing) {
  open(3, Milliseconds(100));
  const std::string why = "not all of the 3 processes met here within 0.1 s; "
                          "missing: ranks 1, 2";
  EXPECT_EQ(Client::join(options(0, 3)).status().message(), why);
  times.meeting = kPatience; // they come at any time
  for (uint32_t rank : {1, 2})
    EXPECT_EQ(Client::join(options(rank, 3)).status().message(), why);
}

TEST_F(ControlTest, Addresses) {
  EXPECT_EQ(parseAddress("host:80")->describe(), "host:80");
  for (const char *wrong : {"", "host", "host:", ":80", "host:0", "host:x",
                            "host:80x", "host:65536"})
    EXPECT_EQ(parseAddress(wrong).status().message(),
              std::string(wrong) + ": expected HOST:PORT");
  Address busy;
  Result<Socket> first = listenAt(busy);
  EXPECT_EQ(listenAt(busy).status().message(),
            "cannot listen at " + busy.describe() + ": Address already in use");
  EXPECT_EQ(connectTo(busy, {}).ok(), true);
}

} // namespace
