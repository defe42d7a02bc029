// How participants of a trainer find each other.

#include "PlanFixture.h"

#include "capi/Bootstrap.h"

#include <gtest/gtest.h>

#include <filesystem>
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

  std::unique_ptr<Rendezvous> store() const {
    return makeDirectoryRendezvous(directory, "etc", stop);
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
            comparePlans(*plan, options, *values, kPatience).message();
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

} // namespace
