// One wrong solution for each constraint.

#include "etc/Optimize/Rounds/Solution.h"

#include <gtest/gtest.h>

namespace etc::rounds {
namespace {

/// A tensor of 20 bytes moves in two chunks, which a third class waits for.
Problem theProblem() {
  return {{{20, 0, 40, 20, 0}, {0, 20, 60, 20, 20}, {0, 20, 60, 0, 20}},
          {{{{0, 0, 0, 10, 0}, {1, 20, 0, 0, 10}}},
           {{{0, 0, 20, 10, 0}, {1, 0, 0, 0, 10}}, 0},
           {{{1, 0, 0, 20, 0}, {2, 20, 0, 0, 20}}, -1, 1}}};
}

/// Written by hand.
Solution theSolution() {
  Solution solution;
  solution.roundOf = {0, 0, 1};
  solution.rounds = 2;
  solution.sendSlab = {20, 20, 0};
  solution.recvSlab = {0, 20, 20};
  solution.peak = {40, 60, 40};
  return solution;
}

std::string errorOf(const Problem &problem, const Solution &solution) {
  return verify(problem, solution).value_or("valid");
}

template <typename Change> std::string errorAfter(Change change) {
  Solution solution = theSolution();
  change(solution);
  return errorOf(theProblem(), solution);
}

TEST(VerifyTest, Valid) {
  EXPECT_EQ(errorOf(theProblem(), theSolution()), "valid");
  EXPECT_EQ(errorOf({}, {}), "valid");
}

TEST(VerifyTest, MalformedProblem) {
  Problem problem = theProblem();
  problem.units[1].before = 2;
  EXPECT_EQ(errorOf(problem, theSolution()),
            "units[1].before: unit 2 is not in [0, 1)");
}

TEST(VerifyTest, S1Rounds) {
  EXPECT_EQ(errorAfter([](Solution &s) { s.roundOf.pop_back(); }),
            "roundOf: expected 3 entries, got 2");
  EXPECT_EQ(errorAfter([](Solution &s) { s.roundOf[1] = -1; }),
            "roundOf[1]: -1 is not in [0, 2)");
  EXPECT_EQ(errorAfter([](Solution &s) { s.roundOf[2] = 2; }),
            "roundOf[2]: 2 is not in [0, 2)");
  EXPECT_EQ(errorAfter([](Solution &s) { s.rounds = 3; }),
            "rounds: round 2 has no unit");
  EXPECT_EQ(errorAfter([](Solution &s) { s.rounds = 4; }),
            "rounds: 4 is not in [0, 3]");
}

TEST(VerifyTest, S2Order) {
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.roundOf = {1, 0, 1};
            }),
            "roundOf[1]: in round 0, but unit 0, which must not come later, in "
            "round 1");
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.roundOf = {0, 1, 1};
            }),
            "roundOf[2]: in round 1, but unit 1, which it waits for, in round "
            "1");
}

TEST(VerifyTest, S3Slabs) {
  EXPECT_EQ(errorAfter([](Solution &s) { s.sendSlab[0] = 10; }),
            "sendSlab[0]: a round sends up to 20 bytes, got 10");
  EXPECT_EQ(errorAfter([](Solution &s) { s.recvSlab[2] = 30; }),
            "recvSlab[2]: a round receives up to 20 bytes, got 30");
  EXPECT_EQ(errorAfter([](Solution &s) { s.recvSlab.clear(); }),
            "recvSlab: expected 3 entries, got 0");
}

TEST(VerifyTest, S4Peaks) {
  EXPECT_EQ(errorAfter([](Solution &s) { s.peak[1] = 50; }),
            "peak[1]: up to 60 bytes are live, got 50");
}

// What the first class releases in round 0 is live until its end; so is what it
// held before the first round.
TEST(VerifyTest, S4WhatIsReleasedIsLiveBefore) {
  const Problem problem = {{{30, 10, 30, 0, 0}}, {{{{0, 0, 20, 0, 0}}}}};
  Solution solution{{0}, 1, 0, {0}, {0}, {30}, {}};
  EXPECT_EQ(errorOf(problem, solution), "valid");
  solution.peak = {10};
  EXPECT_EQ(errorOf(problem, solution),
            "peak[0]: up to 30 bytes are live, got 10");
}

/// The last unit is deferred: what the second class holds then is the tail's.
Problem deferredProblem() {
  Problem problem = theProblem();
  problem.units[2].isDeferred = true;
  return problem;
}

TEST(VerifyTest, S2Deferred) {
  Solution solution = theSolution();
  solution.tailPeak = {20, 60, 40};
  EXPECT_EQ(errorOf(deferredProblem(), solution), "valid");
  Problem problem = deferredProblem();
  problem.units[1].isDeferred = true;
  EXPECT_EQ(
      errorOf(problem, solution),
      "roundOf[1]: in round 0, but is deferred, and one that is not is in "
      "round 0");
}

TEST(VerifyTest, S6TailPeaks) {
  Solution solution = theSolution();
  EXPECT_EQ(errorOf(deferredProblem(), solution),
            "tailPeak: expected 3 entries, got 0");
  solution.tailPeak = {20, 50, 40};
  EXPECT_EQ(errorOf(deferredProblem(), solution),
            "tailPeak[1]: up to 60 bytes are live, got 50");
  // Which exceeds the limit with 1 byte beside it.
  solution.tailPeak[1] = 60;
  Problem problem = deferredProblem();
  problem.classes[2].limit = 40;
  problem.classes[2].beside = 1;
  EXPECT_EQ(errorOf(problem, solution),
            "forced: 1 of 2 rounds exceed a class, got 0");
}

TEST(VerifyTest, S5Forced) {
  EXPECT_EQ(errorAfter([](Solution &s) { s.forced = 3; }),
            "forced: 0 of 2 rounds exceed a class, got 3");
  auto errorWith = [](auto change) {
    Problem problem = theProblem();
    change(problem.classes[1]);
    return errorOf(problem, theSolution());
  };
  const std::string error = "forced: 1 of 2 rounds exceed a class, got 0";
  EXPECT_EQ(errorWith([](ClassMemory &it) { it.limit = 59; }), error);
  EXPECT_EQ(errorWith([](ClassMemory &it) { it.sendSlab = 19; }), error);
  EXPECT_EQ(errorWith([](ClassMemory &it) { it.recvSlab = 19; }), error);
}

TEST(VerifyTest, S7RoundTime) {
  Problem problem = theProblem();
  problem.ports = 2;
  problem.roundTime = 7;
  for (size_t i = 0; i < 2; ++i)
    problem.units[i].loads = {{1, 4}};
  EXPECT_EQ(errorOf(problem, theSolution()),
            "rounds: 2 units of round 0 occupy port 1 for 8 of 7 ns");
  problem.roundTime = 8;
  EXPECT_EQ(errorOf(problem, theSolution()), "valid");
  // One unit may take longer.
  problem.units[2].loads = {{0, 9}};
  EXPECT_EQ(errorOf(problem, theSolution()), "valid");
}

} // namespace
} // namespace etc::rounds
