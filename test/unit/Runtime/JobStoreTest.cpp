// A job's store in processes that fail.

#include "StoreFixture.h"

#include "job/JobStore.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace etc::runtime;

namespace {

/// Long enough that no process is given up that waits for its turn.
constexpr Milliseconds kSilence{2000};
/// Long enough on a loaded machine.
constexpr Milliseconds kLong{60'000};

/// A process with a store, which does what it is told.
class Child {
public:
  Child(uint32_t device, const std::string &directory,
        const std::string &contact = {}) {
    int to[2], from[2];
    if (::pipe(to) != 0 || ::pipe(from) != 0)
      std::abort();
    pid = ::fork();
    if (pid == 0) {
      ::close(to[1]);
      ::close(from[0]);
      serve(device, directory, contact, to[0], from[1]);
      ::_exit(0);
    }
    ::close(to[0]);
    ::close(from[1]);
    in = ::fdopen(from[0], "r");
    out = ::fdopen(to[1], "w");
  }
  ~Child() { end(SIGKILL); }
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  void tell(const std::string &line) {
    std::fprintf(out, "%s\n", line.c_str());
    std::fflush(out);
  }
  /// The answer; empty where the process is no more.
  std::string hear() {
    char line[4096];
    if (!std::fgets(line, sizeof line, in))
      return {};
    return std::string(line, std::strlen(line) - 1);
  }
  std::string ask(const std::string &line) {
    tell(line);
    return hear();
  }
  void signal(int number) const {
    ::kill(pid, number);
    if (number == SIGSTOP) // a loaded machine takes its time
      ::waitpid(pid, nullptr, WUNTRACED);
  }
  void end(int number) {
    if (pid <= 0)
      return;
    signal(number);
    signal(SIGCONT);
    ::waitpid(pid, nullptr, 0);
    pid = 0;
    std::fclose(in);
    std::fclose(out);
  }

private:
  static void serve(uint32_t device, const std::string &directory,
                    const std::string &contact, int in, int out) {
    const std::atomic<bool> stop{false};
    const auto first = makeDirectoryRendezvous(directory, "job", stop);
    JobStoreOptions options;
    options.device = device;
    options.host = "127.0.0.1";
    options.silence = kSilence;
    options.deadline = Deadline(kLong);
    options.first = first.get();
    options.contact = contact;
    auto store = JobStore::open(options);
    FILE *lines = ::fdopen(in, "r"), *answers = ::fdopen(out, "w");
    char line[4096];
    while (std::fgets(line, sizeof line, lines)) {
      const std::string answer =
          store ? handle(**store, line) : store.status().message();
      std::fprintf(answers, "%s\n", answer.c_str());
      std::fflush(answers);
    }
  }

  static std::string handle(JobStore &store, const std::string &line) {
    std::istringstream words(line);
    std::string verb, key, value;
    words >> verb >> key >> value;
    if (verb == "put")
      return store.put(key, value).ok() ? "done" : "failed";
    if (verb == "contact")
      return store.contact();
    if (verb == "devices") {
      std::string text;
      for (uint32_t device : store.devices())
        text += std::to_string(device) + " ";
      return text;
    }
    const Result<std::string> got =
        verb == "first"
            ? store.putFirst(key, value)
            : store.get(key, Deadline(Milliseconds(std::stoi(value))));
    return got ? *got : "no: " + got.status().message();
  }

  pid_t pid = 0;
  FILE *in = nullptr, *out = nullptr;
};

class JobStoreTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-job-store-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
  }
  void TearDown() override {
    children.clear();
    std::filesystem::remove_all(directory);
  }

  Child &add(uint32_t device, const std::string &contact = {}) {
    children.push_back(std::make_unique<Child>(device, directory, contact));
    return *children.back();
  }
  /// Processes 0, 1, ... that have joined in this order.
  void start(uint32_t count) {
    for (uint32_t device = 0; device != count; ++device)
      ASSERT_EQ(add(device).ask("put here/" + std::to_string(device) + " x"),
                "done");
  }

  std::string directory;
  std::vector<std::unique_ptr<Child>> children;
};

TEST_F(JobStoreTest, ValuesAreSeenByAll) {
  start(3);
  EXPECT_EQ(children[1]->ask("put a 7"), "done");
  for (auto &child : children)
    EXPECT_EQ(child->ask("get a 60000"), "7");
  EXPECT_EQ(children[2]->ask("first b 1"), "1");
  EXPECT_EQ(children[0]->ask("first b 2"), "1");
  EXPECT_EQ(children[1]->ask("get b 1"), "1");
  EXPECT_EQ(children[1]->ask("get c 1").substr(0, 2), "no");
  EXPECT_EQ(children[1]->ask("devices"), "0 1 2 ");
}

TEST_F(JobStoreTest, AWaitEndsWhenTheValueComes) {
  start(2);
  children[1]->tell("get later 60000");
  EXPECT_EQ(children[0]->ask("put later 1"), "done");
  EXPECT_EQ(children[1]->hear(), "1");
}

TEST_F(JobStoreTest, AWaitThatIsInterruptedEnds) {
  const std::atomic<bool> stop{false};
  const auto first = makeDirectoryRendezvous(directory, "job", stop);
  JobStoreOptions options;
  options.host = "127.0.0.1";
  options.deadline = Deadline(kLong);
  options.first = first.get();
  auto store = JobStore::open(options);
  ASSERT_TRUE(store) << store.status().message();
  std::atomic<bool> isOver{false};
  std::string message;
  std::thread waiting([&] {
    const Deadline forever(Milliseconds(1 << 30));
    message = (*store)->get("never", forever).status().message();
    isOver = true;
  });
  while (!isOver) {
    (*store)->interrupt();
    std::this_thread::yield();
  }
  waiting.join();
  EXPECT_EQ(message, "never: the wait was interrupted");
  EXPECT_TRUE((*store)->putFirst("key", "x"));
}

/// One hub after the other is killed: what was decided remains, and what the
/// living ones put.
TEST_F(JobStoreTest, TheHubMayDie) {
  start(5);
  EXPECT_EQ(children[4]->ask("put mine 4"), "done");
  EXPECT_EQ(children[3]->ask("first chosen 3"), "3");
  for (int hub = 0; hub != 3; ++hub) {
    const std::string key = "since/" + std::to_string(hub);
    children[4]->tell("get " + key + " 60000");
    children[hub]->end(SIGKILL);
    EXPECT_EQ(children[3]->ask("first chosen 9"), "3");
    EXPECT_EQ(children[3]->ask("get mine 60000"), "4");
    EXPECT_EQ(children[3]->ask("put " + key + " x"), "done");
    EXPECT_EQ(children[4]->hear(), "x");
  }
  children[3]->end(SIGKILL);
  EXPECT_EQ(children[4]->ask("first alone 4"), "4");
  EXPECT_EQ(children[4]->ask("get chosen 60000"), "3");
  EXPECT_EQ(children[4]->ask("devices"), "4 ");
}

/// All propose while the hub is killed: they get one value.
TEST_F(JobStoreTest, OneValueWhoeverDies) {
  for (int round = 0; round != 5; ++round) {
    children.clear();
    std::filesystem::remove_all(directory);
    std::filesystem::create_directory(directory);
    start(5);
    for (int i = 1; i != 5; ++i)
      children[i]->tell("first chosen " + std::to_string(i));
    ::usleep(200 * round);
    children[0]->end(SIGKILL);
    const std::string value = children[1]->hear();
    EXPECT_NE(value.substr(0, 2), "no");
    for (int i = 2; i != 5; ++i)
      EXPECT_EQ(children[i]->hear(), value);
  }
}

/// A hub that is stopped is given up; when it wakes it follows, with the
/// decisions of the others.
TEST_F(JobStoreTest, AStoppedHubFollowsWhenItWakes) {
  start(4);
  children[0]->signal(SIGSTOP);
  children[0]->tell("first chosen 0");
  EXPECT_EQ(children[1]->ask("first chosen 1"), "1");
  EXPECT_EQ(children[3]->ask("first chosen 3"), "1");
  children[0]->signal(SIGCONT);
  EXPECT_EQ(children[0]->hear(), "1");
  EXPECT_EQ(children[0]->ask("get chosen 1"), "1");
  EXPECT_EQ(children[1]->ask("devices"), "1 2 3 0 "); // the hub
}

TEST_F(JobStoreTest, AStoppedMemberIsGivenUpAndComesBack) {
  start(4);
  children[2]->signal(SIGSTOP);
  EXPECT_EQ(children[1]->ask("first chosen 1"), "1");
  EXPECT_EQ(children[0]->ask("devices"), "0 1 3 ");
  children[2]->signal(SIGCONT);
  EXPECT_EQ(children[2]->ask("first chosen 2"), "1");
}

/// Less than half decide nothing, and say so.
TEST_F(JobStoreTest, AMinorityDecidesNothing) {
  start(5);
  for (int i = 0; i != 3; ++i)
    children[i]->signal(SIGSTOP);
  EXPECT_EQ(children[4]->ask("first chosen 4"),
            "no: the job's store has no answer within 8 s: this process "
            "reaches less than half of the 5 processes");
  for (int i = 0; i != 3; ++i)
    children[i]->signal(SIGCONT);
  // What it proposed still counts, unless another one was earlier.
  const std::string value = children[1]->ask("first chosen 1");
  EXPECT_TRUE(value == "1" || value == "4") << value;
  EXPECT_EQ(children[4]->ask("get chosen 60000"), value);
}

/// The hub gives up nobody where most are silent, though one is silent for too
/// long before the others are.
TEST_F(JobStoreTest, AHubInTheMinorityDecidesNothing) {
  start(5);
  for (int i = 2; i != 5; ++i)
    children[i]->signal(SIGSTOP);
  EXPECT_EQ(children[1]->ask("first chosen 1").substr(0, 2), "no");
  EXPECT_EQ(children[0]->ask("devices"), "0 1 2 3 4 ");
  for (int i = 2; i != 5; ++i)
    children[i]->signal(SIGCONT);
  EXPECT_EQ(children[3]->ask("first chosen 3"), "1");
}

/// Who comes meanwhile is not one more that speaks for all.
TEST_F(JobStoreTest, AMinorityTakesNobodyIn) {
  start(3);
  const std::string contact = children[0]->ask("contact");
  for (int i = 1; i != 3; ++i)
    children[i]->signal(SIGSTOP);
  // What they said before they stopped is read first: it counts as heard.
  std::this_thread::sleep_for(Milliseconds(500));
  Child &late = add(7, contact);
  late.tell("first chosen 7");
  EXPECT_EQ(children[0]->ask("first chosen 0").substr(0, 2), "no");
  EXPECT_EQ(children[0]->ask("devices"), "0 1 2 ");
  for (int i = 1; i != 3; ++i)
    children[i]->signal(SIGCONT);
  EXPECT_EQ(late.hear(), "0");
}

/// Without the directory: by what any of the members knows.
TEST_F(JobStoreTest, ANewProcessNeedsOneThatIsThere) {
  start(3);
  EXPECT_EQ(children[2]->ask("first chosen 2"), "2");
  const std::string contact = children[2]->ask("contact");
  std::filesystem::remove_all(directory);
  children[0]->end(SIGKILL);
  Child &late = add(7, contact);
  EXPECT_EQ(late.ask("get chosen 60000"), "2");
  EXPECT_EQ(late.ask("devices"), "1 2 7 ");
}

TEST_F(JobStoreTest, LaterOnesFindTheStoreWhenItsFounderIsGone) {
  start(3);
  children[0]->end(SIGKILL);
  EXPECT_EQ(children[1]->ask("first chosen 1"), "1");
  EXPECT_EQ(add(5).ask("get chosen 60000"), "1");
}

/// A process listens before it tells its address, so nobody need wait for one
/// that does not.
TEST_F(JobStoreTest, WhatAnEndedJobLeftIsNamed) {
  test::Store first;
  JobStoreOptions options;
  options.host = "127.0.0.1";
  options.silence = Milliseconds(200);
  options.deadline = Milliseconds(60'000);
  options.first = &first;
  ASSERT_TRUE(
      first.put("store/first", std::string(64, 'x') + "@127.0.0.1:1").ok());
  ASSERT_TRUE(first.put("store/member/2", "127.0.0.1:2").ok());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(JobStore::open(options).status().message(),
            "store/first names 127.0.0.1:1, 127.0.0.1:2, where nobody listens; "
            "if an earlier job left it, remove it, or use another tag or an "
            "empty directory");
  options.contact = std::string(64, 'x') + "@127.0.0.1:1";
  EXPECT_EQ(JobStore::open(options).status().message(),
            "contact names 127.0.0.1:1, where nobody listens: those processes "
            "have ended");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

/// Who does not answer may be slow.
TEST_F(JobStoreTest, WhoIsSilentIsWaitedFor) {
  Address address;
  Result<Socket> listener = listenAt(address);
  ASSERT_TRUE(listener.ok());
  JobStoreOptions options;
  options.host = "127.0.0.1";
  options.silence = Milliseconds(100);
  options.deadline = Milliseconds(1000);
  options.contact = std::string(64, 'x') + "@" + address.describe();
  EXPECT_EQ(JobStore::open(options).status().message(),
            "no process of the job's store answers at " + address.describe() +
                " within 1 s; a new job needs a new tag");
}

} // namespace
