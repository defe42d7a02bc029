// Every solver on every instance of corpus/.

#include "Cases.h"
#include "etc/Optimize/Placement/Solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace etc::placement {

static void PrintTo(const Solution &solution, std::ostream *out) {
  *out << "(" << solution.kept.node << ", " << solution.kept.device << ")";
}

namespace {

using Kept = std::optional<assignment::Weight>;

class CorpusTest : public ::testing::TestWithParam<std::filesystem::path> {
protected:
  static testing::Case read() {
    std::ostringstream text;
    text << std::ifstream(GetParam()).rdbuf();
    return testing::readCase(text.str());
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
} // namespace etc::placement
