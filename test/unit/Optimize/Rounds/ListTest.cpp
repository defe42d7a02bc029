// Schedules that are given up early, against those that are finished.

#include "lib/Optimize/Rounds/List.h"
#include "Cases.h"

#include <gtest/gtest.h>

namespace etc::rounds {
namespace {

TEST(ListTest, GivesUpWhatIsNoBetter) {
  int forced = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const Problem problem = testing::randomProblem(seed);
    const UnitFlows flows = findFlows(problem);
    const Solution whole = solveList(problem);
    auto solve = [&](int32_t mostRounds,
                     const std::vector<int64_t> &mostPeaks) {
      return schedule(problem, flows,
                      {.isAllowed = true,
                       .mostRounds = mostRounds,
                       .mostPeaks = mostPeaks});
    };
    EXPECT_EQ(solve(whole.rounds, whole.peak), whole) << seed;
    if (whole.forced == 0)
      continue;
    ++forced;
    EXPECT_EQ(solve(whole.rounds - 1, whole.peak), std::nullopt) << seed;
    for (size_t i = 0; i < whole.peak.size(); ++i) {
      std::vector<int64_t> lower = whole.peak;
      --lower[i];
      EXPECT_EQ(solve(whole.rounds, lower), std::nullopt) << seed;
    }
  }
  EXPECT_GT(forced, 100);
}

} // namespace
} // namespace etc::rounds
