// Random instances: every solver's solution is valid, and no faster than the
// bound. ETC_PROPERTY_COUNT and ETC_PROPERTY_SEED choose others.

#include "../Environment.h"
#include "Cases.h"
#include "etc/Optimize/Routing/Solver.h"

#include <gtest/gtest.h>

namespace etc::routing {
namespace {

void checkSolvers(const Problem &problem) {
  ASSERT_EQ(check(problem), std::nullopt);
  const Cut cut = findBound(problem);
  if (!cut.devices.empty()) {
    EXPECT_EQ(verifyBound(problem, cut), std::nullopt);
  }
  for (auto solver : {solveFirstHolder, solveStriped}) {
    const Solution solution = solver(problem);
    EXPECT_EQ(verify(problem, solution), std::nullopt);
    EXPECT_GE(solution.time, cut.time);
  }
  // But for its slack of 1/256 where that saves hops.
  EXPECT_LE(solveStriped(problem).time.seconds(),
            solveFirstHolder(problem).time.seconds() * 1.004);
}

TEST(PropertyTest, RandomInstances) {
  const uint64_t first = etc::testing::fromEnvironment("ETC_PROPERTY_SEED", 1),
                 count =
                     etc::testing::fromEnvironment("ETC_PROPERTY_COUNT", 3000);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Problem problem = seed % 2 == 0 ? testing::randomProblem(seed)
                                    : testing::unevenProblem(seed);
    for (bool transit : {false, true})
      for (int64_t grain : {1, 700}) {
        SCOPED_TRACE("seed " + std::to_string(seed) +
                     (transit ? " with transit" : "") + "\n" +
                     testing::writeCase(problem));
        problem.transit = transit;
        for (Atom &atom : problem.atoms)
          atom.grain = grain;
        checkSolvers(problem);
        for (size_t i = 0; i < problem.atoms.size(); ++i)
          problem.atoms[i].mayTransit = i % 2 == 0;
        checkSolvers(problem);
        for (Atom &atom : problem.atoms)
          atom.mayTransit = true;
        if (::testing::Test::HasFailure())
          return;
      }
  }
}

/// No route pays less than tolls that are drawn, or found.
TEST(PropertyTest, RoutesPayTolls) {
  const uint64_t first = etc::testing::fromEnvironment("ETC_PROPERTY_SEED", 1),
                 count =
                     etc::testing::fromEnvironment("ETC_PROPERTY_COUNT", 3000);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Problem problem = seed % 2 == 0 ? testing::randomProblem(seed)
                                    : testing::unevenProblem(seed);
    if (problem.atoms.empty())
      continue;
    problem.transit = true;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" +
                 testing::writeCase(problem));
    const Time time =
        std::min(solveStriped(problem).time, solveFirstHolder(problem).time);
    for (uint64_t draw = 0; draw < 5; ++draw) {
      Cut cut;
      cut.tolls = testing::randomTolls(problem, 5 * seed + draw);
      cut.time = timeOf(problem, cut.tolls);
      EXPECT_EQ(verifyBound(problem, cut), std::nullopt);
      EXPECT_LE(cut.time, time);
    }
    const Cut cut = findBound(problem), found = findTolls(problem, cut, time);
    if (found.empty())
      continue;
    EXPECT_EQ(verifyBound(problem, found), std::nullopt);
    EXPECT_GT(found.time, cut.time);
    EXPECT_LE(found.time, time);
    if (::testing::Test::HasFailure())
      return;
  }
}

TEST(PropertyTest, TheSameTwice) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const Problem problem = testing::randomProblem(seed);
    EXPECT_EQ(solveStriped(problem).hops, solveStriped(problem).hops) << seed;
  }
}

} // namespace
} // namespace etc::routing
