// The processes of a job: their order, and who speaks for all.

#include "job/Membership.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace etc::runtime;

namespace {

/// Processes 1 to `count`, on devices 10, 20, ...
Membership members(uint32_t count) {
  Membership made;
  for (uint32_t i = 1; i <= count; ++i)
    made.admit({0, 100 + i, 10 * i, "a:1"});
  made.hub = 1;
  return made;
}

std::vector<uint64_t> numbers(const auto &processes) {
  std::vector<uint64_t> numbers;
  for (const JobProcess &each : processes)
    numbers.push_back(each.number);
  return numbers;
}

TEST(MembershipTest, ProcessesAreNumberedAsTheyJoin) {
  Membership job = members(3);
  EXPECT_EQ(numbers(job.processes()), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(job.devices(), (std::vector<uint32_t>{10, 20, 30}));
  EXPECT_EQ(job.admit({0, 102, 20, "a:1"}).number, 2u) << "it comes again";
  job.remove(3);
  EXPECT_EQ(job.find(3), nullptr);
  EXPECT_EQ(job.admit({0, 104, 30, "a:1"}).number, 4u)
      << "a device has another process";
}

TEST(MembershipTest, NoNumberIsGivenTwiceByTheNextHub) {
  Membership next;
  next.adopt(members(3));
  Membership without = members(3);
  without.remove(3);
  next.adopt(without);
  EXPECT_EQ(next.hub, 1u);
  EXPECT_EQ(next.admit({0, 104, 0, "a:1"}).number, 4u);
}

TEST(MembershipTest, MostSpeakForAll) {
  const auto are = [](std::vector<uint64_t> connected, uint32_t count) {
    return members(count).areMost([&](const JobProcess &each) {
      return std::ranges::find(connected, each.number) != connected.end();
    });
  };
  EXPECT_TRUE(are({1}, 1));
  EXPECT_TRUE(are({2, 3}, 3));
  EXPECT_FALSE(are({1}, 3));
  EXPECT_TRUE(are({1, 4}, 4)) << "half of them, with the first";
  EXPECT_FALSE(are({2, 3}, 4)) << "the other half";
  EXPECT_FALSE(are({}, 0));
}

TEST(MembershipTest, WhoJoinedBeforeIsAskedForTheHub) {
  Membership job = members(5);
  EXPECT_EQ(numbers(job.before(4, false)), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(numbers(job.before(4, true)), (std::vector<uint64_t>{2, 3}));
  job.hub = 5; // of two that thought that they were it
  EXPECT_EQ(numbers(job.before(3, false)), (std::vector<uint64_t>{5, 1, 2}));
  EXPECT_EQ(job.findHub()->device, 50u);
}

} // namespace
