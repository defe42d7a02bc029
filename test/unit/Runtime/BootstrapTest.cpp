// How participants of a trainer find each other.

#include "PlanFixture.h"

#include "capi/Bootstrap.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <thread>

using namespace etc::runtime;
using namespace etc::plan::test;

namespace {

constexpr Milliseconds kPatience{60'000};

class BootstrapTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-bootstrap-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    const std::vector<uint8_t> bytes = etc::plan::packPlan(twoStagePlan());
    auto opened = OpenPlan::copy(bytes);
    ASSERT_TRUE(opened.ok());
    plan = *opened;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::unique_ptr<ChangeRendezvous> store(uint32_t rank = 0,
                                          uint32_t generation = 0) const {
    return std::make_unique<ChangeRendezvous>(
        makeDirectoryRendezvous(directory, "etc", stop), rank, generation,
        stop);
  }

  Status compareAlone(uint32_t rank, uint32_t generation,
                      Milliseconds patience) const {
    BootstrapOptions options;
    options.rank = rank;
    options.host = "127.0.0.1";
    options.generation = generation;
    auto values = store(rank, generation);
    return comparePlans(*plan, options, *values, patience).status();
  }

  /// The messages of all participants, which listen on these hosts.
  std::vector<std::string> compare(const std::vector<std::string> &hosts) {
    std::vector<std::string> messages(hosts.size());
    std::vector<std::jthread> threads;
    for (uint32_t rank = 0; rank != hosts.size(); ++rank)
      threads.emplace_back([&, rank] {
        BootstrapOptions options;
        options.rank = rank;
        options.host = hosts[rank];
        options.timeout = kPatience;
        auto values = store();
        messages[rank] =
            comparePlans(*plan, options, *values, kPatience).status().message();
      });
    threads.clear();
    return messages;
  }

  std::filesystem::path directory;
  std::shared_ptr<const OpenPlan> plan;
  std::atomic<bool> stop{false};
};

TEST_F(BootstrapTest, AllHaveTheSamePlan) {
  for (const std::string &message :
       compare(std::vector<std::string>(4, "127.0.0.1")))
    EXPECT_EQ(message, "");
}

TEST_F(BootstrapTest, AllLearnTheLowestRate) {
  const std::vector<uint64_t> rates{0, 3000, 2000, 0};
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank != rates.size(); ++rank)
    threads.emplace_back([&, rank] {
      BootstrapOptions options;
      options.rank = rank;
      options.host = "127.0.0.1";
      options.tailRate = rates[rank];
      auto values = store();
      Result<uint64_t> slowest =
          comparePlans(*plan, options, *values, kPatience);
      ASSERT_TRUE(slowest.ok()) << slowest.status().message();
      EXPECT_EQ(*slowest, 2000u);
    });
}

TEST_F(BootstrapTest, AllLearnOfAHostThatDoesNotResolve) {
  const auto messages =
      compare({"127.0.0.1", "127.0.0.1", "no..host", "127.0.0.1"});
  EXPECT_TRUE(messages[2].starts_with("host no..host does not resolve: "))
      << messages[2];
  for (int rank : {0, 1, 3})
    EXPECT_EQ(messages[rank],
              "participant 2 (device 2) cannot take part: " + messages[2]);
}

TEST_F(BootstrapTest, ADirectoryTakesNothingFromStrangers) {
  auto values = store();
  ASSERT_TRUE(values->put("key", "value").ok());
  EXPECT_EQ(*values->get("key", kPatience), "value");
  const std::filesystem::path file = directory / "etc.key";
  std::filesystem::permissions(file, std::filesystem::perms(0666));
  EXPECT_EQ(values->get("key", kPatience).status().message(),
            file.string() + ": is open to other users, and so is not from this "
                            "job; use a directory that only you can write to");
}

TEST_F(BootstrapTest, AllLearnAtOnceThatOneCannotTakePart) {
  std::vector<std::string> messages(3);
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank != 3; ++rank)
    threads.emplace_back([&, rank] {
      messages[rank] = compareAlone(rank, 1, kPatience).message();
    });
  store(3, 1)->refuse("device 3: w is missing");
  threads.clear();
  for (const std::string &message : messages)
    EXPECT_EQ(message, "device 3: w is missing");
  // And who comes later; an earlier change's end is not this one's.
  EXPECT_EQ(compareAlone(2, 1, kPatience).message(), "device 3: w is missing");
  EXPECT_EQ(compareAlone(2, 2, Milliseconds(400)).message(),
            "participant 0 (device 0) is not there: still at change 1");
}

TEST_F(BootstrapTest, WhoComesTooLateIsExcluded) {
  const std::string cause = "participant 1 (device 1) is not there: no value "
                            "of plan/1 within 0.4 s";
  EXPECT_EQ(compareAlone(0, 1, Milliseconds(400)).message(), cause);
  const Status late = compareAlone(1, 1, kPatience);
  EXPECT_EQ(late.kind(), ErrorKind::Excluded);
  EXPECT_EQ(late.message(),
            "the others went on without this process: " + cause);
}

/// What one process puts, and nobody else.
class LoneRendezvous : public Rendezvous {
public:
  Status put(const std::string &key, const std::string &value) override {
    values[key] = value;
    return Status::success();
  }
  Result<std::string> putFirst(const std::string &key,
                               const std::string &value) override {
    return values.emplace(key, value).first->second;
  }
  Result<std::string> get(const std::string &key,
                          const Deadline &deadline) override {
    if (values.contains(key))
      return values[key];
    miss(key, deadline);
    return Status(ErrorKind::Peer, "no value");
  }

protected:
  /// Waits for a value that does not come.
  virtual void miss(const std::string &, const Deadline &deadline) {
    std::this_thread::sleep_for(deadline.left());
  }

  std::map<std::string, std::string> values;
};

/// Participant 0's, at a moment at which participant 2 has just given up
/// participant 1.
class LateRendezvous final : public LoneRendezvous {
  void miss(const std::string &key, const Deadline &deadline) override {
    if (key != "plan/1")
      return;
    std::this_thread::sleep_for(deadline.left() + Milliseconds(200));
    values["refused"] = "0 1 participant 1 (device 1) is not there: too late";
  }
};

TEST_F(BootstrapTest, WhatTwoMissAtOnceIsToldOnce) {
  BootstrapOptions options;
  options.host = "127.0.0.1";
  ChangeRendezvous rendezvous(std::make_unique<LateRendezvous>(), 0, 0, stop);
  const Deadline deadline(Milliseconds(100));
  EXPECT_EQ(
      comparePlans(*plan, options, rendezvous, deadline).status().message(),
      "participant 1 (device 1) is not there: too late");
}

/// In which another process says that it is the same participant.
class TakenRendezvous final : public LoneRendezvous {
  Status put(const std::string &key, const std::string &value) override {
    return LoneRendezvous::put(key, key == "plan/0" ? "0 0 1 another process"
                                                    : value);
  }
};

TEST_F(BootstrapTest, ADeviceHasOneProcess) {
  BootstrapOptions options;
  options.host = "127.0.0.1";
  ChangeRendezvous rendezvous(std::make_unique<TakenRendezvous>(), 0, 0, stop);
  const std::string twice =
      "two processes are participant 0 (device 0); each device has one";
  EXPECT_EQ(comparePlans(*plan, options, rendezvous, Milliseconds(20))
                .status()
                .message(),
            twice);
  EXPECT_TRUE(rendezvous.get("refused", Milliseconds(1))->ends_with(twice));
}

TEST_F(BootstrapTest, ALaterChangeExcludes) {
  EXPECT_EQ(compareAlone(0, 8, Milliseconds(50)).kind(), ErrorKind::Peer);
  const Status late = compareAlone(1, 7, kPatience);
  EXPECT_EQ(late.kind(), ErrorKind::Excluded);
}

} // namespace
