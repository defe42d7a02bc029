// Every solver on every instance of corpus/.

#include "Cases.h"
#include "etc/Optimize/Rounds/Solver.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace etc::rounds {
namespace {

class CorpusTest : public ::testing::TestWithParam<std::filesystem::path> {
protected:
  static testing::Case read() {
    std::ostringstream text;
    text << std::ifstream(GetParam()).rdbuf();
    return testing::readCase(text.str());
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
} // namespace etc::rounds
