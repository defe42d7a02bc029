// What enters nodes under a placement, and exchanges that make it less.

#include "etc/Optimize/Placement/Entering.h"
#include "../Environment.h"
#include "Cases.h"
#include "etc/Optimize/Placement/Solver.h"

#include <gtest/gtest.h>

namespace etc::placement {
namespace {

/// Two roles with two replicas each, on two nodes of two devices. The first
/// node holds both roles, the second nothing.
Problem twoRoles() {
  return testing::readCase(R"(
replicas 2
ranks 0 1 2 3
node 0 : 0 1
node 1 : - -
device rows 0 1
device columns 0 1
device base 16 0
device base 0 10
node rows 0 1
node columns 0 1
node base 16 0
node base 10 0
)")
      .problem;
}

/// Contents 0 and 1 are of one role each, 2 of both.
Entering ofTwoRoles(int64_t shared = 0) {
  return {{{0, 2}, {1, 2}}, {{0, 16 - shared}, {0, 10 - shared}, {0, shared}}};
}

TEST(EnteringTest, ANodeReceivesOnce) {
  const Problem problem = twoRoles();
  // One replica of each role on each node; both of the second role together.
  EXPECT_EQ(countEntering(problem, ofTwoRoles(), {0, 2, 1, 3}), 26);
  EXPECT_EQ(countEntering(problem, ofTwoRoles(), {0, 1, 2, 3}), 10);
  EXPECT_EQ(countEntering(problem, ofTwoRoles(4), {0, 2, 1, 3}), 22);
  EXPECT_EQ(countEntering(problem, ofTwoRoles(4), {0, 1, 2, 3}), 10);
}

// The larger role stays on the node that holds it.
TEST(EnteringTest, ReplicasComeTogether) {
  const Problem problem = twoRoles();
  const std::optional<Solution> solved = solve(problem);
  ASSERT_TRUE(solved);
  const Solution reduced = reduceEntering(problem, ofTwoRoles(), *solved);
  EXPECT_EQ(verify(problem, reduced), std::nullopt);
  EXPECT_EQ(countEntering(problem, ofTwoRoles(), reduced.deviceOf), 10);
}

// With bytes kept on devices first, no replica gives up what it holds.
TEST(EnteringTest, BytesKeptStayWhereTheyCountFirst) {
  Problem problem = twoRoles();
  problem.isTotalFirst = true;
  const std::optional<Solution> solved = solve(problem);
  ASSERT_TRUE(solved);
  EXPECT_EQ(reduceEntering(problem, ofTwoRoles(), *solved), *solved);
}

// 10 bytes less between nodes are not worth 50 that are kept.
TEST(EnteringTest, BytesKeptAreWorthSomething) {
  Problem problem = twoRoles();
  problem.onDevice.atGroups(0, 0) = problem.onNode.atGroups(0, 0) = 60;
  problem.onDevice.atGroups(1, 1) = problem.onNode.atGroups(1, 0) = 60;
  const Entering entering{{{0, 2}, {1, 3}},
                          {{0, 50}, {0, 50}, {0, 10}, {0, 10}}};
  const std::optional<Solution> solved = solve(problem);
  ASSERT_TRUE(solved);
  const Solution reduced = reduceEntering(problem, entering, *solved);
  EXPECT_EQ(verify(problem, reduced), std::nullopt);
  EXPECT_EQ(countEntering(problem, entering, reduced.deviceOf), 60);
  Entering small = entering;
  small.lacking = {{0, 5}, {0, 5}, {0, 1}, {0, 1}};
  EXPECT_EQ(reduceEntering(problem, small, *solved), *solved);
}

// A node that stays empty under pack is not taken.
TEST(EnteringTest, PackTakesNoFurtherNode) {
  Problem problem = testing::readCase(R"(
policy pack
ranks 0 1
node 0 : 0 1
node 1 : - -
device rows 0 1
device columns 0 1
device base 0 0
device base 0 0
node rows 0 1
node columns 0 1
node base 0 0
node base 0 0
)")
                        .problem;
  const Entering entering{{{0}, {1}}, {{8, 0}, {8, 0}}};
  const Solution reduced = reduceEntering(problem, entering, *solve(problem));
  EXPECT_EQ(verify(problem, reduced), std::nullopt);
}

// Solutions stay valid, no more bytes enter nodes, and the same problem gives
// the same solution.
TEST(EnteringTest, RandomInstances) {
  const uint64_t first = etc::testing::fromEnvironment("ETC_PROPERTY_SEED", 1),
                 count =
                     etc::testing::fromEnvironment("ETC_PROPERTY_COUNT", 2000);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Problem problem = testing::randomProblem(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" +
                 testing::writeCase(problem));
    const std::optional<Solution> solved = solve(problem);
    if (!solved)
      continue;
    const Entering entering = testing::randomEntering(problem, seed);
    const Solution reduced = reduceEntering(problem, entering, *solved);
    EXPECT_EQ(verify(problem, reduced), std::nullopt);
    const auto bytes = [&](const Solution &solution) {
      return countEntering(problem, entering, solution.deviceOf);
    };
    if (problem.isTotalFirst) {
      EXPECT_EQ(reduced, *solved);
    }
    EXPECT_LE(bytes(reduced), bytes(*solved));
    EXPECT_EQ(reduceEntering(problem, entering, *solved), reduced);
    if (::testing::Test::HasFailure())
      return;
  }
}

} // namespace
} // namespace etc::placement
