// Random instances: every solver's solution is valid, and none has fewer rounds
// than the fewest. ETC_PROPERTY_COUNT and ETC_PROPERTY_SEED choose others.

#include "../Environment.h"
#include "Cases.h"
#include "etc/Optimize/Rounds/Solver.h"
#include "lib/Optimize/Rounds/List.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>

namespace etc::rounds {
namespace {

/// How far list scheduling is from the fewest rounds.
struct Distance {
  std::map<int32_t, int> beyond; ///< instances by rounds beyond the fewest
  int forced = 0;                ///< where it exceeds and need not
  int infeasible = 0;            ///< where every solution exceeds

  void print() const {
    std::cout << "list scheduling, rounds beyond the fewest:";
    for (auto [rounds, instances] : beyond)
      std::cout << " +" << rounds << " in " << instances;
    std::cout << "; forced without need in " << forced << "; infeasible in "
              << infeasible << "\n";
  }
};

void checkSolvers(const Problem &problem, Distance &distance) {
  ASSERT_EQ(check(problem), std::nullopt);
  const Solution list = solveList(problem);
  EXPECT_EQ(verify(problem, list), std::nullopt);
  EXPECT_EQ(schedule(problem, findFlows(problem), {.isAllowed = false}),
            list.forced > 0 ? std::nullopt : std::optional(list));
  const std::optional<Solution> exact = solveExact(problem);
  if (!exact) {
    EXPECT_GT(list.forced, 0);
    ++distance.infeasible;
    return;
  }
  EXPECT_EQ(verify(problem, *exact), std::nullopt);
  EXPECT_EQ(exact->forced, 0);
  if (list.forced > 0) {
    ++distance.forced;
    return;
  }
  EXPECT_LE(exact->rounds, list.rounds);
  ++distance.beyond[list.rounds - exact->rounds];
}

void checkRandom(Problem (*make)(uint64_t seed)) {
  const uint64_t first = etc::testing::fromEnvironment("ETC_PROPERTY_SEED", 1),
                 count =
                     etc::testing::fromEnvironment("ETC_PROPERTY_COUNT", 2000);
  Distance distance;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Problem problem = make(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" +
                 testing::writeCase(problem));
    checkSolvers(problem, distance);
    if (::testing::Test::HasFailure())
      return;
  }
  distance.print();
}

TEST(PropertyTest, RandomInstances) { checkRandom(testing::randomProblem); }

TEST(PropertyTest, RandomDeferredInstances) {
  checkRandom(testing::randomDeferredProblem);
}

TEST(PropertyTest, TheSameTwice) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const Problem problem = testing::randomProblem(seed);
    EXPECT_EQ(solveList(problem), solveList(problem)) << seed;
  }
}

// Whether units share their lists or have equal ones.
TEST(PropertyTest, TheSameWhereListsAreShared) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const Problem problem = testing::randomDeferredProblem(seed);
    Problem shared = problem;
    for (size_t i = 0; i < shared.units.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (shared.units[i].touches == shared.units[j].touches)
          shared.units[i].touches = shared.units[j].touches;
    EXPECT_EQ(solveList(shared), solveList(problem)) << seed;
  }
}

TEST(PropertyTest, TextIsReadBack) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const Problem problem = testing::randomDeferredProblem(seed);
    EXPECT_EQ(testing::readCase(testing::writeCase(problem)).problem, problem)
        << seed;
  }
}

} // namespace
} // namespace etc::rounds
