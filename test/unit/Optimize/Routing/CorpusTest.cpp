// Every solver on every instance of corpus/.

#include "../Corpus.h"
#include "Cases.h"
#include "etc/Optimize/Routing/Solver.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace etc::routing {
namespace {

class CorpusTest : public ::testing::TestWithParam<std::filesystem::path> {
protected:
  static testing::Case read() {
    return testing::readCase(etc::testing::textOf(GetParam()));
  }
};

TEST_P(CorpusTest, Bound) {
  const testing::Case instance = read();
  ASSERT_EQ(check(instance.problem), std::nullopt);
  const Cut cut = findBound(instance.problem);
  EXPECT_EQ(verifyBound(instance.problem, cut), std::nullopt);
  ASSERT_TRUE(instance.bound);
  EXPECT_EQ(cut.time, *instance.bound) << describe(instance.problem, cut);
}

TEST_P(CorpusTest, FirstHolder) {
  const testing::Case instance = read();
  EXPECT_EQ(verify(instance.problem, solveFirstHolder(instance.problem)),
            std::nullopt);
}

TEST_P(CorpusTest, Striped) {
  testing::Case instance = read();
  for (bool transit : {false, true}) {
    instance.problem.transit = transit;
    const Solution solution = solveStriped(instance.problem);
    EXPECT_EQ(verify(instance.problem, solution), std::nullopt);
    EXPECT_LE(solution.time.seconds() / instance.bound->seconds(),
              transit ? instance.transit : instance.striped);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CorpusTest, ::testing::ValuesIn(etc::testing::findCases(ETC_CORPUS)),
    etc::testing::nameOfCase);

} // namespace
} // namespace etc::routing
