// Devices that are chosen for their NICs.

#include "etc/Optimize/Placement/Nics.h"
#include "../Environment.h"
#include "Cases.h"
#include "etc/Optimize/Placement/Solver.h"

#include <gtest/gtest.h>

namespace etc::placement {
namespace {

/// Bytes of a role, and how many a NIC carries in a second.
constexpr int64_t size = 96'000, second = 1000;

/// Replicas of one role, of which the first node holds some; on two nodes.
Problem replicasOf(int64_t replicas, const std::string &firstNode,
                   const std::string &secondNode) {
  std::string ranks;
  for (int64_t rank = 0; rank < replicas; ++rank)
    ranks += " " + std::to_string(rank);
  const std::string bytes = std::to_string(size);
  return testing::readCase(
             "policy pack\nreplicas " + std::to_string(replicas) + "\nranks" +
             ranks + "\nnode 0 : " + firstNode + "\nnode 1 : " + secondNode +
             "\ndevice rows 0\ndevice columns 0\ndevice base " + bytes +
             "\nnode rows 0\nnode columns 0 1\nnode base " + bytes + " 0\n")
      .problem;
}

/// One content, which the second node lacks.
const Entering whole{{{0}}, {{0, size}}, {size}};
const Rates eachItsOwn{8, second, 9 * second},
    pairsShare{4, second, 9 * second};

Solution solved(const Problem &problem) {
  std::optional<Solution> solution = solve(problem);
  EXPECT_TRUE(solution);
  return *solution;
}

// Eight ranks fill the first node, the ninth has one NIC. Of five and four, the
// first node sends over five NICs, and the second receives over four.
TEST(NicsTest, RanksMoveToTheNodeThatReceives) {
  const Problem problem = replicasOf(9, "0 - - - - - - -", "- - - - - - - -");
  const Solution before = solved(problem);
  EXPECT_EQ(countSlowest(problem, whole, eachItsOwn, before.deviceOf), size);
  ASSERT_TRUE(mayReachMoreNics(problem, eachItsOwn, before));
  const auto after = reachMoreNics(problem, whole, eachItsOwn, before);
  ASSERT_TRUE(after);
  EXPECT_EQ(verify(problem, *after), std::nullopt);
  EXPECT_EQ(countSlowest(problem, whole, eachItsOwn, after->deviceOf),
            size / 4);
  EXPECT_EQ(countEntering(problem, whole, after->deviceOf), size);
}

// Neighbours share a NIC, and a holder has one already.
TEST(NicsTest, RanksTakeDevicesWithNicsOfTheirOwn) {
  Problem problem = replicasOf(4, "0 0 0 x", "- - - - - - - -");
  problem.devices[1].status = problem.devices[2].status = Status::Draining;
  problem.policy = Policy::Tp;
  const Solution before{{0, 4, 5, 6}, {0, 0}};
  EXPECT_EQ(countSlowest(problem, whole, pairsShare, before.deviceOf),
            size / 2);
  const auto after = reachMoreNics(problem, whole, pairsShare, before);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->deviceOf, (std::vector<int64_t>{0, 4, 6, 8}));
}

// A tensor-parallel group moves as a whole, and stays on one node.
TEST(NicsTest, GroupsMoveWhole) {
  Problem problem = testing::readCase(R"(
policy pack
replicas 5
group 2
ranks 0 5 1 6 2 7 3 8 4 9
node 0 : 0 1 - - - - - -
node 1 : - - - - - - - -
device rows 0 1
device columns 0 1
device base 96000 0
device base 0 96000
node rows 0 1
node columns 0 1
node base 96000 0
node base 96000 0
)")
                        .problem;
  const Entering halves{{{0}, {1}}, {{0, size}, {0, size}}, {size, size}};
  const auto after =
      reachMoreNics(problem, halves, eachItsOwn, solved(problem));
  ASSERT_TRUE(after);
  EXPECT_EQ(verify(problem, *after), std::nullopt);
  EXPECT_EQ(countSlowest(problem, halves, eachItsOwn, after->deviceOf),
            size / 2);
}

TEST(NicsTest, NothingChangesForLittle) {
  const Problem problem = replicasOf(9, "0 - - - - - - -", "- - - - - - - -");
  const Solution before = solved(problem);
  // 1/10 is less than a millisecond.
  const Rates fast{8, size * 10'000, size * 90'000};
  EXPECT_FALSE(reachMoreNics(problem, whole, fast, before));
  // The link of each device takes longer.
  const Rates slowLink{8, second, 1};
  EXPECT_TRUE(reachMoreNics(problem, whole, eachItsOwn, before));
  EXPECT_FALSE(reachMoreNics(problem, whole, slowLink, before));
}

TEST(NicsTest, FullNodesStay) {
  const Problem full = replicasOf(8, "0 - - -", "- - - -");
  EXPECT_FALSE(mayReachMoreNics(full, eachItsOwn, solved(full)));
  Problem total = replicasOf(5, "0 - - -", "- - - -");
  EXPECT_TRUE(mayReachMoreNics(total, eachItsOwn, solved(total)));
  total.isTotalFirst = true;
  EXPECT_FALSE(mayReachMoreNics(total, eachItsOwn, solved(total)));
}

/// What ranks keep on devices.
int64_t keptOnDevices(const Problem &problem, const Solution &solution) {
  return problem.isTotalFirst ? solution.kept.node : solution.kept.device;
}

TEST(NicsTest, RandomInstances) {
  const uint64_t first = etc::testing::fromEnvironment("ETC_PROPERTY_SEED", 1),
                 count =
                     etc::testing::fromEnvironment("ETC_PROPERTY_COUNT", 4000);
  int64_t found = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Problem problem = testing::randomProblem(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" +
                 testing::writeCase(problem));
    const std::optional<Solution> before = solve(problem);
    if (!before)
      continue;
    const Entering entering = testing::randomEntering(problem, seed);
    const Rates rates{1 + int64_t(seed % 4), 100, 400};
    const auto after = reachMoreNics(problem, entering, rates, *before);
    EXPECT_EQ(reachMoreNics(problem, entering, rates, *before), after);
    if (!after)
      continue;
    ++found;
    EXPECT_EQ(verify(problem, *after), std::nullopt);
    EXPECT_LE(countEntering(problem, entering, after->deviceOf),
              countEntering(problem, entering, before->deviceOf));
    EXPECT_GE(keptOnDevices(problem, *after), keptOnDevices(problem, *before));
    EXPECT_LT(countSlowest(problem, entering, rates, after->deviceOf),
              countSlowest(problem, entering, rates, before->deviceOf));
    if (::testing::Test::HasFailure())
      return;
  }
  std::printf("%lld of %llu from seed %llu on reach more\n",
              static_cast<long long>(found),
              static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(first));
}

} // namespace
} // namespace etc::placement
