// What must hold for every problem, tried on many random ones.
// ETC_PROPERTY_COUNT sets how many (2000), ETC_PROPERTY_SEED the first seed
// (1); a failure names the seed of its problem.

#include "../Environment.h"
#include "RandomProblems.h"
#include "References.h"
#include "etc/Optimize/Assignment/Expand.h"
#include "etc/Optimize/Assignment/Solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

namespace etc::assignment::testing {
namespace {

template <typename Body> void forRandomProblems(Body body) {
  uint64_t first = etc::testing::fromEnvironment("ETC_PROPERTY_SEED", 1);
  uint64_t count = etc::testing::fromEnvironment("ETC_PROPERTY_COUNT", 2000);
  std::cout << "seeds " << first << " to " << first + count - 1 << "\n";
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem = randomProblem(seed);
    ASSERT_EQ(check(problem), std::nullopt);
    body(problem, seed);
    if (::testing::Test::HasFailure())
      return;
  }
}

void expectComplementarySlackness(const Problem &problem,
                                  const Solution &solution) {
  std::vector<int64_t> rowLoad(problem.supply.size());
  std::vector<int64_t> colLoad(problem.capacity.size());
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    auto [row, col, weight] = problem.edges[e];
    rowLoad[row] += solution.flow[e];
    colLoad[col] += solution.flow[e];
    if (solution.flow[e] > 0) {
      EXPECT_EQ(solution.u[row] + solution.v[col], weight)
          << "edge " << e << " has flow and is not tight";
    }
  }
  for (size_t i = 0; i < rowLoad.size(); ++i)
    EXPECT_TRUE(rowLoad[i] == problem.supply[i] || solution.u[i] == Weight{})
        << "row " << i;
  for (size_t j = 0; j < colLoad.size(); ++j)
    EXPECT_TRUE(colLoad[j] == problem.capacity[j] || solution.v[j] == Weight{})
        << "column " << j;
}

// Changes one number in a way that can't leave the solution valid.
std::string mutate(const Problem &problem, Solution &solution, Random &random) {
  auto indexOf = [&random](const auto &list) {
    return size_t(random.in(0, int64_t(list.size()) - 1));
  };
  Weight change = random.oneIn(2) ? Weight{0, random.in(1, 3)}
                                  : Weight{random.in(1, 2), random.in(-2, 2)};
  if (random.oneIn(2))
    change = Weight{} - change;

  switch (random.in(0, 4)) {
  case 0:
    if (size_t i = indexOf(problem.supply); problem.supply[i] > 0) {
      solution.u[i] += change;
      return "u";
    }
    break;
  case 1:
    if (size_t j = indexOf(problem.capacity); problem.capacity[j] > 0) {
      solution.v[j] += change;
      return "v";
    }
    break;
  case 2:
    if (!problem.edges.empty()) {
      solution.flow[indexOf(problem.edges)] += random.oneIn(2) ? 1 : -1;
      return "flow";
    }
    break;
  case 3: // A feasible flow with its true total, but not the best.
    if (solution.total > Weight{}) {
      std::fill(solution.flow.begin(), solution.flow.end(), 0);
      solution.total = {};
      return "no flow";
    }
    break;
  }
  solution.total += change;
  return "total";
}

TEST(PropertyTest, SolutionsAreOptimalAndCertified) {
  forRandomProblems([](const Problem &problem, uint64_t) {
    Solution solution = solve(problem);
    EXPECT_EQ(solution.total, hungarian(problem));
    EXPECT_EQ(verify(problem, solution), std::nullopt);
    EXPECT_EQ(
        verifyCertificate(problem, solution.total, solution.u, solution.v),
        std::nullopt);
    expectComplementarySlackness(problem, solution);
  });
}

TEST(PropertyTest, SmallProblemsEqualBruteForce) {
  int compared = 0;
  forRandomProblems([&compared](const Problem &problem, uint64_t) {
    if (denseMatrix(problem).size() > 6)
      return;
    EXPECT_EQ(solve(problem).total, bruteForce(problem));
    ++compared;
  });
  std::cout << compared << " of them small enough\n";
}

TEST(PropertyTest, MutatedSolutionsAreRefused) {
  forRandomProblems([](const Problem &problem, uint64_t seed) {
    Random random(seed);
    Solution solution = solve(problem);
    std::string mutated = mutate(problem, solution, random);
    EXPECT_NE(verify(problem, solution), std::nullopt)
        << "mutated: " << mutated;
  });
}

TEST(PropertyTest, ExpansionFollowsTheFlow) {
  forRandomProblems([](const Problem &problem, uint64_t) {
    Solution solution = solve(problem);
    std::vector<std::vector<Match>> matches = expand(problem, solution.flow);
    std::vector<int64_t> left = solution.flow;
    std::vector<std::vector<bool>> taken;
    for (int64_t capacity : problem.capacity)
      taken.emplace_back(capacity);

    ASSERT_EQ(matches.size(), problem.supply.size());
    for (size_t i = 0; i < matches.size(); ++i) {
      ASSERT_EQ(int64_t(matches[i].size()), problem.supply[i]);
      for (Match match : matches[i]) {
        if (!match.isMade())
          continue;
        for (size_t e = 0; e < problem.edges.size(); ++e)
          left[e] -= problem.edges[e].row == int32_t(i) &&
                     problem.edges[e].col == match.col;
        EXPECT_FALSE(taken.at(match.col).at(match.member))
            << "two roles on one device";
        taken[match.col][match.member] = true;
      }
    }
    EXPECT_EQ(left, std::vector<int64_t>(problem.edges.size(), 0));
  });
}

} // namespace
} // namespace etc::assignment::testing
