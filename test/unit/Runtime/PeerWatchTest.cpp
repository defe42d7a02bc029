// Signs of life between processes: who is stopped, cut off or busy.

#include "core/transport/Collectives.h"
#include "job/PeerControl.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace etc::runtime;
using Clock = std::chrono::steady_clock;

namespace {

constexpr Milliseconds kPatience{60'000};
constexpr Milliseconds kSilence{1000};

/// Processes that share a directory: values under keys, and what each saw.
class PeerWatchTest : public testing::Test {
protected:
  using Body = std::function<std::string(std::unique_ptr<Control>, uint32_t)>;

  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-watch-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    rendezvous = makeDirectoryRendezvous(directory, "meeting", isStopped);
  }
  void TearDown() override {
    for (pid_t process : processes)
      if (process > 0) {
        ::kill(process, SIGKILL);
        ::waitpid(process, nullptr, 0);
      }
    std::filesystem::remove_all(directory);
  }

  /// Each process notes what `body` returns.
  void start(uint32_t count, const Body &body) {
    for (uint32_t rank = 0; rank != count; ++rank) {
      pid_t process = ::fork();
      ASSERT_GE(process, 0);
      if (process == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        auto control = connectPeerControl(options(rank, count));
        note("result" + std::to_string(rank),
             control ? body(std::move(*control), rank)
                     : control.status().message());
        ::_exit(0);
      }
      processes.push_back(process);
    }
  }

  PeerControlOptions options(uint32_t rank, uint32_t count) {
    PeerControlOptions made;
    made.rank = rank;
    for (uint32_t other = 0; other != count; ++other)
      made.devices.push_back(10 + other);
    made.peers = {(rank + 1) % count, (rank + count - 1) % count};
    made.rendezvous = rendezvous.get();
    made.host = "127.0.0.1";
    made.deadline = kPatience;
    made.beat = Milliseconds(50);
    made.silence = kSilence;
    return made;
  }

  void note(const std::string &key, const std::string &value) const {
    const std::string file = directory / key, part = file + ".part";
    std::ofstream(part) << value;
    std::filesystem::rename(part, file);
  }
  bool isNoted(const std::string &key) const {
    return std::filesystem::exists(directory / key);
  }
  std::string await(const std::string &key) const {
    const auto deadline = Clock::now() + kPatience;
    while (!isNoted(key) && Clock::now() < deadline)
      std::this_thread::sleep_for(Milliseconds(2));
    std::ifstream in(directory / key);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::filesystem::path directory;
  std::vector<pid_t> processes;
  std::atomic<bool> isStopped{false};
  std::unique_ptr<Rendezvous> rendezvous;
};

/// What a participant is told when it can't go on.
std::string tell(Control &control, uint32_t rank, const Status &error) {
  const Status status = giveUp(control, 10 + rank, error);
  return (status.kind() == ErrorKind::Excluded ? "excluded: " : "") +
         status.message();
}

TEST_F(PeerWatchTest, WhoIsStoppedIsGivenUpByAllAndExcluded) {
  constexpr uint32_t count = 5, victim = 3;
  start(count, [&](std::unique_ptr<Control> control, uint32_t rank) {
    note("ready" + std::to_string(rank), "");
    (void)await("go" + std::to_string(rank)); // idle, as between two steps
    const Status status = barrier(*control, {rank, count}, kPatience);
    return status.ok() ? "passed" : tell(*control, rank, status);
  });
  for (uint32_t rank = 0; rank != count; ++rank)
    (void)await("ready" + std::to_string(rank));
  ::kill(processes[victim], SIGSTOP);
  // Rank 0, which hears from all, stays idle: the others learn it all the same.
  for (uint32_t rank : {1, 2, 4})
    note("go" + std::to_string(rank), "");
  for (uint32_t rank : {1, 2, 4})
    EXPECT_EQ(await("result" + std::to_string(rank)),
              "device 13: no sign of life for 1 s");
  note("go0", "");
  EXPECT_EQ(await("result0"), "device 13: no sign of life for 1 s");
  ::kill(processes[victim], SIGCONT);
  note("go3", "");
  EXPECT_EQ(await("result3"),
            "excluded: the others went on without this process: device 13: no "
            "sign of life for 1 s");
}

/// Ends this process's last connection, as a network may.
void cutOne() {
  sockaddr_storage peer;
  int last = -1;
  for (int socket = 3; socket != 256; ++socket) {
    socklen_t size = sizeof peer;
    if (::getpeername(socket, reinterpret_cast<sockaddr *>(&peer), &size) == 0)
      last = socket;
  }
  ::shutdown(last, SHUT_RDWR);
}

/// The others do not go on without it: the change is over for all.
TEST_F(PeerWatchTest, WhoLosesAConnectionIsNotExcluded) {
  constexpr uint32_t count = 3, victim = 2;
  start(count, [&](std::unique_ptr<Control> control, uint32_t rank) {
    note("ready" + std::to_string(rank), "");
    (void)await("go" + std::to_string(rank));
    if (rank == victim) {
      cutOne();
      ::raise(SIGSTOP); // until the others have told it
    }
    return tell(*control, rank, barrier(*control, {rank, count}, kPatience));
  });
  for (uint32_t rank = 0; rank != count; ++rank)
    (void)await("ready" + std::to_string(rank));
  for (uint32_t rank : {victim, 0u, 1u})
    note("go" + std::to_string(rank), "");
  const std::string cause = "lost the connection to device 12";
  for (uint32_t rank : {0, 1})
    EXPECT_EQ(await("result" + std::to_string(rank)), cause);
  ::kill(processes[victim], SIGCONT);
  // It has lost the other end.
  const std::string learnt = await("result2");
  EXPECT_TRUE(learnt.starts_with("lost the connection to device 1")) << learnt;
}

TEST_F(PeerWatchTest, WhoDiesWhileAllAreIdleIsNoticed) {
  constexpr uint32_t count = 4;
  start(count, [&](std::unique_ptr<Control> control, uint32_t rank) {
    note("ready" + std::to_string(rank), "");
    (void)await("go");
    return tell(*control, rank, barrier(*control, {rank, count}, kPatience));
  });
  for (uint32_t rank = 0; rank != count; ++rank)
    (void)await("ready" + std::to_string(rank));
  ::kill(processes[2], SIGKILL);
  std::this_thread::sleep_for(Milliseconds(200));
  note("go", "");
  for (uint32_t rank : {0, 1, 3})
    EXPECT_EQ(await("result" + std::to_string(rank)),
              "lost the connection to device 12");
}

TEST_F(PeerWatchTest, AJobThatIsStoppedAsAWholeGoesOn) {
  constexpr uint32_t count = 3;
  start(count, [&](std::unique_ptr<Control> control, uint32_t rank) {
    note("ready" + std::to_string(rank), "");
    (void)await("go");
    return barrier(*control, {rank, count}, kPatience).message();
  });
  for (uint32_t rank = 0; rank != count; ++rank)
    (void)await("ready" + std::to_string(rank));
  for (pid_t process : processes)
    ::kill(process, SIGSTOP);
  std::this_thread::sleep_for(2 * kSilence);
  for (pid_t process : processes)
    ::kill(process, SIGCONT);
  note("go", "");
  for (uint32_t rank = 0; rank != count; ++rank)
    EXPECT_EQ(await("result" + std::to_string(rank)), "");
}

/// No thread of a process but that of the library does anything.
TEST_F(PeerWatchTest, WhoIsBusyIsNotGivenUp) {
  constexpr uint32_t count = 3;
  start(count, [&](std::unique_ptr<Control> control, uint32_t rank) {
    const auto end = Clock::now() + 2 * kSilence;
    while (rank != 1 && Clock::now() < end)
      ; // computes
    return barrier(*control, {rank, count}, kPatience).message();
  });
  for (uint32_t rank = 0; rank != count; ++rank)
    EXPECT_EQ(await("result" + std::to_string(rank)), "");
}

TEST_F(PeerWatchTest, WhoIsTooLateIsNamedToAll) {
  constexpr uint32_t count = 3;
  start(count, [&](std::unique_ptr<Control> control, uint32_t rank) {
    if (rank == 1)
      (void)await("result0");
    return tell(*control, rank,
                barrier(*control, {rank, count}, Milliseconds(300)));
  });
  const std::string cause = "device 10: no answer from device 11 within 0.3 s";
  for (uint32_t rank = 0; rank != count; ++rank)
    EXPECT_EQ(await("result" + std::to_string(rank)), cause);
}

/// Rank 2 has the decision, leaves without a word, and so does rank 0.
TEST_F(PeerWatchTest, WhoHasTheDecisionPassesItOn) {
  constexpr uint32_t count = 4;
  start(count, [&](std::unique_ptr<Control> control, uint32_t rank) {
    const RankAndCount self{rank, count};
    if (rank == 1)
      (void)await("slow");
    Status status = decideTogether(*control, self, kPatience,
                                   [] { return Status::success(); });
    return status.message();
  });
  std::this_thread::sleep_for(Milliseconds(200));
  note("slow", "");
  for (uint32_t rank = 0; rank != count; ++rank)
    EXPECT_EQ(await("result" + std::to_string(rank)), "");
}

TEST_F(PeerWatchTest, WhoIsPreparedHeedsRankZeroAlone) {
  constexpr uint32_t count = 4;
  start(count, [&](std::unique_ptr<Control> control, uint32_t rank) {
    if (rank == 2) {
      // It says that it is prepared, and dies.
      (void)control->send(0, {});
      (void)await("deciding");
      ::_exit(0);
    }
    auto decide = [&] {
      note("deciding", "");
      (void)await("decide");
      return Status::success();
    };
    return decideTogether(*control, {rank, count}, kPatience, decide).message();
  });
  std::this_thread::sleep_for(3 * kSilence);
  note("decide", "");
  for (uint32_t rank : {0, 1, 3})
    EXPECT_EQ(await("result" + std::to_string(rank)), "");
}

} // namespace
