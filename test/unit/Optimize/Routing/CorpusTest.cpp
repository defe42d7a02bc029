// Every solver on every instance of corpus/.

#include "Cases.h"
#include "etc/Optimize/Routing/Solver.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace etc::routing {
namespace {

class CorpusTest : public ::testing::TestWithParam<std::filesystem::path> {
protected:
  static testing::Case read() {
    std::ostringstream text;
    text << std::ifstream(GetParam()).rdbuf();
    return testing::readCase(text.str());
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

std::vector<std::filesystem::path> findCases() {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(ETC_CORPUS))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

INSTANTIATE_TEST_SUITE_P(All, CorpusTest, ::testing::ValuesIn(findCases()),
                         [](const auto &info) {
                           std::string name = info.param.stem();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
} // namespace etc::routing
