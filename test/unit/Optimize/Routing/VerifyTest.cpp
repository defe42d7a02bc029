// One wrong solution for each constraint.

#include "etc/Optimize/Routing/Solution.h"

#include <gtest/gtest.h>

namespace etc::routing {
namespace {

/// Device 0 has what 1 and 2 need, on two nodes of two devices.
Problem theProblem() {
  Problem problem;
  addNode(problem, 2, 2, 900, 100);
  addNode(problem, 2, 2, 900, 100);
  problem.sets = {{0}, {1, 2}};
  problem.atoms = {{0, 1, 1000, 10}};
  return problem;
}

/// Half of it leaves through device 1's NIC. Written by hand.
Solution theSolution() {
  Solution solution;
  solution.hops = {{0, 0, 1, 0, 0, 500},
                   {0, 0, 1, 0, 500, 1000},
                   {0, 0, 2, 0, 500, 1000},
                   {0, 1, 2, 1, 0, 500}};
  solution.loads = {
      {1000, 0, 0, 0}, {0, 1000, 0, 0}, {500, 500, 0, 0}, {0, 0, 1000, 0}};
  solution.time = {1000, 100};
  return solution;
}

/// All of it goes through device 3's NIC, which does not need it.
Solution withTransit() {
  Solution solution;
  solution.hops = {
      {0, 0, 1, 0, 0, 1000}, {0, 0, 3, 0, 0, 1000}, {0, 3, 2, 1, 0, 1000}};
  solution.loads = {
      {1000, 0, 0, 1000}, {0, 1000, 1000, 0}, {1000, 0, 0, 0}, {0, 0, 0, 1000}};
  solution.time = {1000, 100};
  return solution;
}

std::string errorOf(const Problem &problem, const Solution &solution) {
  return verify(problem, solution).value_or("valid");
}

template <typename Change>
std::string errorAfter(Change change, Solution solution = theSolution()) {
  change(solution);
  return errorOf(theProblem(), solution);
}

TEST(VerifyTest, Valid) {
  EXPECT_EQ(errorOf(theProblem(), theSolution()), "valid");
}

TEST(VerifyTest, S2DirectAtoms) {
  Problem problem = theProblem();
  problem.transit = true;
  EXPECT_EQ(errorOf(problem, withTransit()), "valid");
  problem.atoms[0].mayTransit = false;
  EXPECT_EQ(
      errorOf(problem, withTransit()),
      "hops[1]: device 3 does not need atoms[0], and there is no transit");
}

TEST(VerifyTest, MalformedProblem) {
  Problem problem = theProblem();
  problem.atoms[0].holders = 9;
  EXPECT_EQ(errorOf(problem, theSolution()),
            "atoms[0]: set 9 is not in [0, 2)");
}

TEST(VerifyTest, S1Hops) {
  EXPECT_EQ(errorAfter([](Solution &s) { s.hops[0].atom = 1; }),
            "hops[0].atom: 1 is not in [0, 1)");
  EXPECT_EQ(errorAfter([](Solution &s) { s.hops[0].to = 4; }),
            "hops[0]: device 4 is not in [0, 4)");
  EXPECT_EQ(errorAfter([](Solution &s) { s.hops[0].to = 0; }),
            "hops[0]: device 0 sends to itself");
  EXPECT_EQ(errorAfter([](Solution &s) { s.hops[0].stage = -1; }),
            "hops[0].stage: must be at least 0, got -1");
  EXPECT_EQ(errorAfter([](Solution &s) { s.hops[0].end = 1010; }),
            "hops[0]: [0, 1010) is no interval of [0, 1000)");
  EXPECT_EQ(errorAfter([](Solution &s) { s.hops[0].end = 0; }),
            "hops[0]: [0, 0) is no interval of [0, 1000)");
  EXPECT_EQ(errorAfter([](Solution &s) { s.hops[0].end = 495; }),
            "hops[0]: [0, 495) is not cut at the grain 10");
  Problem problem = theProblem();
  problem.devices[3].status = Status::Spare;
  problem.transit = true;
  EXPECT_EQ(errorOf(problem, withTransit()), "hops[1]: device 3 takes no part");
}

TEST(VerifyTest, S2Receipts) {
  EXPECT_EQ(errorAfter([](Solution &s) { s.hops.pop_back(); }),
            "atoms[0]: device 2 receives 500 of 1000 bytes");
  EXPECT_EQ(errorAfter([](Solution &s) { s.hops.resize(2); }),
            "atoms[0]: 1 of 2 needers receive it");
  EXPECT_EQ(errorAfter([](Solution &s) { s.hops[1].begin = 490; }),
            "hops[1]: device 1 receives byte 490 of atoms[0] twice");
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.hops.push_back({0, 1, 0, 1, 0, 500});
            }),
            "hops[4]: device 0 holds atoms[0] and receives it");
  EXPECT_EQ(
      errorOf(theProblem(), withTransit()),
      "hops[1]: device 3 does not need atoms[0], and there is no transit");
}

TEST(VerifyTest, S2Transit) {
  Problem problem = theProblem();
  problem.transit = true;
  EXPECT_EQ(errorOf(problem, theSolution()), "valid");
  EXPECT_EQ(errorOf(problem, withTransit()), "valid");
  Solution solution = withTransit();
  solution.hops[2].end = 500;
  solution.hops.push_back({0, 0, 2, 0, 500, 1000});
  EXPECT_EQ(errorOf(problem, solution),
            "hops[1]: device 3 neither needs byte 500 nor sends it on");
}

TEST(VerifyTest, S3Order) {
  EXPECT_EQ(errorAfter([](Solution &s) { s.hops[3].stage = 0; }),
            "hops[3]: stage 0 sends byte 0, which arrives in stage 0");
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.hops = {{0, 1, 2, 1, 0, 1000}, {0, 2, 1, 2, 0, 1000}};
            }),
            "hops[0]: stage 1 sends byte 0, which arrives in stage 2");
  EXPECT_EQ(errorAfter([](Solution &s) { s.hops[3].from = 3; }),
            "hops[3]: device 3 never has byte 0 of atoms[0]");
}

TEST(VerifyTest, S4Loads) {
  EXPECT_EQ(errorAfter([](Solution &s) { s.loads.linkOut.pop_back(); }),
            "loads.linkOut: expected 4 entries, got 3");
  EXPECT_EQ(errorAfter([](Solution &s) { s.loads.linkIn[1] = 999; }),
            "loads.linkIn[1]: the hops carry 1000 bytes, got 999");
  EXPECT_EQ(errorAfter([](Solution &s) { s.loads.nicOut[1] = 0; }),
            "loads.nicOut[1]: the hops carry 500 bytes, got 0");
  EXPECT_EQ(errorAfter([](Solution &s) { s.loads.nicIn[3] = 1; }),
            "loads.nicIn[3]: the hops carry 0 bytes, got 1");
}

TEST(VerifyTest, S5Time) {
  EXPECT_EQ(errorAfter([](Solution &s) { s.time = {500, 50}; }), "valid");
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.time = {999, 100};
            }),
            "time: the slowest resource carries 1000 bytes at 100 a second, "
            "got 999 at 100");
}

} // namespace
} // namespace etc::routing
