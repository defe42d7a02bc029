// Problems with hubs, against the same problems with an edge for every pair.
// ETC_PROPERTY_COUNT sets how many (2000), ETC_PROPERTY_SEED the first seed
// (1); a failure names the seed of its problem.

#include "etc/Optimize/Assignment/Hubs.h"
#include "../Environment.h"
#include "RandomProblems.h"
#include "etc/Optimize/Assignment/Solver.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>

namespace etc::assignment::testing {
namespace {

using Weights = std::map<std::pair<int32_t, int32_t>, Weight>;

std::vector<Edge> toEdges(const Weights &weights) {
  std::vector<Edge> edges;
  for (const auto &[pair, weight] : weights)
    edges.push_back({pair.first, pair.second, weight});
  return edges;
}

Weight weightOf(const HubProblem &problem, int32_t row, int32_t col) {
  for (const Edge &edge : problem.direct.edges)
    if (edge.row == row && edge.col == col)
      return edge.weight;
  for (const Edge &hub : problem.hubs)
    if (hub.row == problem.rowGroup[row] && hub.col == problem.colGroup[col])
      return hub.weight;
  return {};
}

Problem withAllPairs(const HubProblem &problem) {
  Problem all{problem.direct.supply, problem.direct.capacity, {}};
  for (int32_t row = 0; row < int32_t(all.supply.size()); ++row)
    for (int32_t col = 0; col < int32_t(all.capacity.size()); ++col)
      if (Weight weight = weightOf(problem, row, col); weight > Weight{})
        all.edges.push_back({row, col, weight});
  return all;
}

HubProblem randomHubs(uint64_t seed) {
  Random random(seed);
  HubProblem problem;
  int64_t rows = random.in(1, 12), cols = random.in(1, 12),
          rowGroups = random.in(1, rows), colGroups = random.in(1, cols),
          top = random.oneIn(2) ? 3 : 1000;
  bool pairs = random.oneIn(3);
  for (int64_t i = 0; i < rows; ++i) {
    problem.direct.supply.push_back(random.oneIn(3) ? random.in(0, 3) : 1);
    problem.rowGroup.push_back(int32_t(random.in(0, rowGroups - 1)));
  }
  for (int64_t j = 0; j < cols; ++j) {
    problem.direct.capacity.push_back(random.oneIn(3) ? random.in(0, 3) : 1);
    problem.colGroup.push_back(int32_t(random.in(0, colGroups - 1)));
  }
  problem.rowGroup[0] = int32_t(rowGroups - 1);
  problem.colGroup[0] = int32_t(colGroups - 1);
  auto draw = [&] {
    return Weight{pairs ? random.in(0, 2) : 0, random.in(1, top)};
  };
  Weights hubs, edges;
  for (int64_t k = random.in(0, 2 * rowGroups); k > 0; --k)
    hubs[{random.in(0, rowGroups - 1), random.in(0, colGroups - 1)}] = draw();
  problem.hubs = toEdges(hubs);
  for (int64_t k = random.in(0, 2 * rows); k > 0; --k) {
    int32_t row = int32_t(random.in(0, rows - 1)),
            col = int32_t(random.in(0, cols - 1));
    auto hub = hubs.find({problem.rowGroup[row], problem.colGroup[col]});
    edges[{row, col}] = draw() + (hub == hubs.end() ? Weight{} : hub->second);
  }
  problem.direct.edges = toEdges(edges);
  return problem;
}

TEST(HubsTest, SolutionsEqualThoseWithAllPairs) {
  uint64_t first = etc::testing::fromEnvironment("ETC_PROPERTY_SEED", 1),
           count = etc::testing::fromEnvironment("ETC_PROPERTY_COUNT", 2000);
  std::cout << "seeds " << first << " to " << first + count - 1 << "\n";
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    HubProblem problem = randomHubs(seed);
    ASSERT_EQ(check(problem), std::nullopt);
    Problem all = withAllPairs(problem);
    HubSolution found = solve(problem);
    const auto &[flow, total, u, v] = found.solution;
    ASSERT_EQ(total, solve(all).total);
    ASSERT_EQ(verify(found.problem, found.solution), std::nullopt);
    ASSERT_EQ(verifyCertificate(all, total, u, v), std::nullopt);
    ASSERT_EQ(verifyCertificate(leastCovered(problem, u, v), total, u, v),
              std::nullopt);
  }
}

// Two rows of a group weigh 5 with either column of one, and 7 where the
// first meets the second.
HubProblem twoByTwo() {
  return {{{1, 1}, {1, 1}, {{0, 1, {0, 7}}}}, {0, 0}, {0, 0}, {{0, 0, {0, 5}}}};
}

TEST(HubsTest, AnEdgeIsTakenBeforeItsHub) {
  HubSolution found = solve(twoByTwo());
  EXPECT_EQ(found.solution.total, (Weight{0, 12}));
  EXPECT_EQ(found.problem.edges,
            (std::vector<Edge>{{0, 1, {0, 7}}, {1, 0, {0, 5}}}));
  EXPECT_EQ(found.solution.flow, (std::vector<int64_t>{1, 1}));
}

TEST(HubsTest, LeastCoveredPairs) {
  std::vector<Weight> u = {{0, 7}, {0, 5}}, v = {{0, 0}, {0, 0}};
  EXPECT_EQ(leastCovered(twoByTwo(), u, v).edges,
            (std::vector<Edge>{{0, 1, {0, 7}}, {1, 0, {0, 5}}}));
}

TEST(HubsTest, ChecksSayWhatIsWrong) {
  HubProblem few = twoByTwo();
  few.rowGroup = {0};
  EXPECT_EQ(check(few), "rowGroup: expected 2 entries, got 1");
  HubProblem beyond = twoByTwo();
  beyond.colGroup[1] = 2;
  EXPECT_EQ(check(beyond), "colGroup[1]: 2 is not in [0, 2)");
  HubProblem light = twoByTwo();
  light.direct.edges[0].weight = {0, 4};
  EXPECT_EQ(check(light),
            "edges[0].weight: (0, 4) is less than its hub's (0, 5)");
  HubProblem astray = twoByTwo();
  astray.hubs[0].col = 1;
  EXPECT_EQ(check(astray), "hubs: edges[0].col: 1 is not in [0, 1)");
}

} // namespace
} // namespace etc::assignment::testing
