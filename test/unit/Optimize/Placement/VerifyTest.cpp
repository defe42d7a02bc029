// One invalid solution for each constraint.

#include "Cases.h"
#include "etc/Optimize/Placement/Solution.h"

#include <gtest/gtest.h>

namespace etc::placement {
namespace {

/// Two groups of two stay on a node each; of a third node nobody needs
/// anything.
Problem theProblem() {
  return testing::readCase(R"(
policy pack
stages 2
group 2
ranks 0 1 2 3
node 0 : 0 1
node 1 : 2 3
node 2 : d- x -
device rows 0 1 2 3
device columns 0 1 2 3
device base 16 0 0 0
device base 0 16 0 0
device base 0 0 16 0
device base 0 0 0 16
node rows 0 1 2 3
node columns 0 1 2
node base 16 0 0
node base 16 0 0
node base 0 16 0
node base 0 16 0
)")
      .problem;
}

Solution theSolution() { return {{0, 1, 2, 3}, {64, 64}}; }

template <typename Change> std::string errorAfter(Change change) {
  Problem problem = theProblem();
  Solution solution = theSolution();
  change(problem, solution);
  return verify(problem, solution).value_or("valid");
}

TEST(VerifyTest, Valid) {
  EXPECT_EQ(errorAfter([](Problem &, Solution &) {}), "valid");
}

TEST(VerifyTest, WhatIsMalformed) {
  EXPECT_EQ(errorAfter([](Problem &p, Solution &) { p.replicas = 0; }),
            "replicas: expected at least 1, got 0");
}

TEST(VerifyTest, S1Devices) {
  EXPECT_EQ(errorAfter([](Problem &, Solution &s) {
              s.deviceOf = {0, 1};
            }),
            "deviceOf: expected 4 ranks, got 2");
  EXPECT_EQ(errorAfter([](Problem &, Solution &s) { s.deviceOf[0] = 7; }),
            "deviceOf[0]: 7 is not in [0, 7)");
  EXPECT_EQ(errorAfter([](Problem &, Solution &s) { s.deviceOf[0] = 4; }),
            "deviceOf[0]: device 4 takes no rank")
      << "it drains";
  EXPECT_EQ(errorAfter([](Problem &, Solution &s) { s.deviceOf[0] = 5; }),
            "deviceOf[0]: device 5 takes no rank")
      << "it has failed";
  EXPECT_EQ(errorAfter([](Problem &, Solution &s) { s.deviceOf[1] = 0; }),
            "deviceOf[1]: device 0 has two ranks");
}

TEST(VerifyTest, S2Kept) {
  EXPECT_EQ(errorAfter([](Problem &, Solution &s) {
              s.kept = {64, 63};
            }),
            "kept: expected (64, 64), got (64, 63)");
  EXPECT_EQ(errorAfter([](Problem &p, Solution &s) {
              p.isTotalFirst = true;
              s.deviceOf = {1, 0, 2, 3};
            }),
            "kept: expected (32, 64), got (64, 64)");
}

TEST(VerifyTest, S3Groups) {
  const auto crosses = [](Problem &, Solution &s) {
    s = {{0, 2, 1, 3}, {32, 32}};
  };
  EXPECT_EQ(errorAfter(crosses),
            "groups[0]: is on 2 nodes, expected at most 1");
  EXPECT_EQ(errorAfter([&](Problem &p, Solution &s) {
              crosses(p, s);
              p.policy = Policy::Any;
            }),
            "valid");
}

// A node of two is left: the largest holds half a group.
TEST(VerifyTest, S3GroupsThatExceedANode) {
  EXPECT_EQ(errorAfter([](Problem &p, Solution &) {
              p.stages = 1;
              p.groupSize = 4;
            }),
            "valid");
}

TEST(VerifyTest, S4Nodes) {
  const auto spread = [](Problem &p, Solution &s) {
    p.groupSize = 1;
    s = {{0, 1, 2, 6}, {48, 48}};
  };
  EXPECT_EQ(errorAfter(spread), "deviceOf: 3 nodes are in use, expected 2");
  EXPECT_EQ(errorAfter([&](Problem &p, Solution &s) {
              spread(p, s);
              p.policy = Policy::Tp;
            }),
            "valid");
}

} // namespace
} // namespace etc::placement
