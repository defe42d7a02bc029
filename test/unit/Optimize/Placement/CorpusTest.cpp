// Every solver on every instance of corpus/.

#include "../Corpus.h"
#include "Cases.h"
#include "etc/Optimize/Placement/Solver.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace etc::placement {

static void PrintTo(const Solution &solution, std::ostream *out) {
  *out << "(" << solution.kept.node << ", " << solution.kept.device << ")";
}

namespace {

using Kept = std::optional<assignment::Weight>;

class CorpusTest : public ::testing::TestWithParam<std::filesystem::path> {
protected:
  static testing::Case read() {
    return testing::readCase(etc::testing::textOf(GetParam()));
  }

  static void expect(const Problem &problem,
                     const std::optional<Solution> &solution,
                     const Kept &kept) {
    ASSERT_EQ(solution.has_value(), kept.has_value());
    if (!solution)
      return;
    EXPECT_EQ(verify(problem, *solution), std::nullopt);
    EXPECT_EQ(*solution, (Solution{solution->deviceOf, *kept}));
  }
};

TEST_P(CorpusTest, Solve) {
  const testing::Case instance = read();
  ASSERT_EQ(check(instance.problem), std::nullopt);
  expect(instance.problem, solve(instance.problem), instance.solved);
}

TEST_P(CorpusTest, Exact) {
  const testing::Case instance = read();
  if (!instance.isMostKnown)
    GTEST_SKIP() << instance.problem.devices.size() << " devices are too many";
  expect(instance.problem, solveExact(instance.problem), instance.most);
}

INSTANTIATE_TEST_SUITE_P(
    All, CorpusTest, ::testing::ValuesIn(etc::testing::findCases(ETC_CORPUS)),
    etc::testing::nameOfCase);

} // namespace
} // namespace etc::placement
