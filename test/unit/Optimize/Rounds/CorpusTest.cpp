// Every solver on every instance of corpus/.

#include "../Corpus.h"
#include "Cases.h"
#include "etc/Optimize/Rounds/Solver.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace etc::rounds {
namespace {

class CorpusTest : public ::testing::TestWithParam<std::filesystem::path> {
protected:
  static testing::Case read() {
    return testing::readCase(etc::testing::textOf(GetParam()));
  }
};

TEST_P(CorpusTest, List) {
  const testing::Case instance = read();
  const Solution solution = solveList(instance.problem);
  EXPECT_EQ(verify(instance.problem, solution), std::nullopt);
  EXPECT_EQ(solution.rounds, instance.list);
  EXPECT_EQ(solution.forced, instance.forced);
}

TEST_P(CorpusTest, Exact) {
  const testing::Case instance = read();
  if (!instance.isFewestKnown)
    GTEST_SKIP() << instance.problem.units.size() << " units are too many";
  const std::optional<Solution> solution = solveExact(instance.problem);
  ASSERT_EQ(solution.has_value(), instance.fewest.has_value());
  if (!solution)
    return;
  EXPECT_EQ(verify(instance.problem, *solution), std::nullopt);
  EXPECT_EQ(solution->rounds, *instance.fewest);
  EXPECT_EQ(solution->forced, 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, CorpusTest, ::testing::ValuesIn(etc::testing::findCases(ETC_CORPUS)),
    etc::testing::nameOfCase);

} // namespace
} // namespace etc::rounds
