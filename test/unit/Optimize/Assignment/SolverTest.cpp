// The solver on problems small enough to solve by eye, and on ones that would
// trip a careless one.

#include "etc/Optimize/Assignment/Solver.h"

#include <gtest/gtest.h>

namespace etc::assignment {
namespace {

Solution solved(const Problem &problem) {
  EXPECT_EQ(check(problem), std::nullopt);
  Solution solution = solve(problem);
  EXPECT_EQ(verify(problem, solution), std::nullopt);
  return solution;
}

TEST(SolverTest, NothingToDo) {
  Solution solution = solved({});
  EXPECT_EQ(solution.total, Weight{});
  EXPECT_TRUE(solution.flow.empty());
}

TEST(SolverTest, ClassesWithoutEdgesStayUnmatched) {
  Solution solution = solved({{3, 1}, {2}, {}});
  EXPECT_EQ(solution.total, Weight{});
  EXPECT_EQ(solution.u.size(), 2u);
  EXPECT_EQ(solution.v.size(), 1u);
}

// The greedy choice, 5 for row 0, would leave row 1 with nothing: 5 instead of
// 4 + 4.
TEST(SolverTest, RowsGiveWayToEachOther) {
  Solution solution = solved(
      {{1, 1}, {1, 1}, {{0, 0, {0, 5}}, {0, 1, {0, 4}}, {1, 0, {0, 4}}}});
  EXPECT_EQ(solution.total, (Weight{0, 8}));
  EXPECT_EQ(solution.flow, (std::vector<int64_t>{0, 1, 1}));
}

// A new role may weigh more than one that is matched already.
TEST(SolverTest, RowsGiveUpTheirFlow) {
  Solution solution = solved({{1, 1}, {1}, {{0, 0, {0, 3}}, {1, 0, {0, 7}}}});
  EXPECT_EQ(solution.flow, (std::vector<int64_t>{0, 1}));
}

TEST(SolverTest, TiesGoToTheLowestIndex) {
  Solution solution = solved(
      {{1, 1},
       {1, 1},
       {{0, 0, {0, 1}}, {0, 1, {0, 1}}, {1, 0, {0, 1}}, {1, 1, {0, 1}}}});
  EXPECT_EQ(solution.flow, (std::vector<int64_t>{1, 0, 0, 1}));
}

TEST(SolverTest, ClassesOfSizeZero) {
  Solution solution = solved(
      {{0, 2},
       {0, 1},
       {{0, 0, {0, 9}}, {0, 1, {0, 9}}, {1, 0, {0, 8}}, {1, 1, {0, 2}}}});
  EXPECT_EQ(solution.total, (Weight{0, 2}));
}

// One byte on the node counts more than any number on the device.
TEST(SolverTest, NodesComeFirst) {
  Solution solution =
      solved({{1}, {1, 1}, {{0, 0, {1, 0}}, {0, 1, {0, 1'000'000'000'000}}}});
  EXPECT_EQ(solution.total, (Weight{1, 0}));
}

TEST(SolverTest, SizesDoNotCostTime) {
  int64_t many = 1'000'000'000'000;
  Solution solution =
      solved({{many, many + 1},
              {many, many - 1},
              {{0, 0, {0, 3}}, {1, 0, {0, 4}}, {1, 1, {0, 1}}}});
  // Row 1 to column 1 as far as it goes: 4 + 1 together beat 3 + nothing on
  // every device but the last two.
  EXPECT_EQ(solution.total, (Weight{0, 4 * 2 + 3 * (many - 2) + (many - 1)}));
}

TEST(SolverTest, EqualComponentsAreSolvedAlike) {
  Problem problem{{1, 1, 1, 1}, {1, 1, 1, 1}, {}};
  for (int32_t base : {0, 2})
    for (int32_t row : {0, 1})
      for (int32_t col : {0, 1})
        problem.edges.push_back({base + row, base + col, {0, 2 + row * col}});
  Solution solution = solved(problem);
  EXPECT_EQ(solution.flow, (std::vector<int64_t>{1, 0, 0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(solution.total, (Weight{0, 10}));
}

// Components interleave, and differ in one supply only.
TEST(SolverTest, AlmostEqualComponentsAreToldApart) {
  Problem problem{{1, 2}, {2, 2}, {{0, 0, {0, 5}}, {1, 1, {0, 5}}}};
  EXPECT_EQ(solved(problem).flow, (std::vector<int64_t>{1, 2}));
}

TEST(SolverTest, LargestWeights) {
  int64_t large = int64_t(1) << 58;
  Solution solution = solved(
      {{1, 1},
       {1, 1},
       {{0, 0, {large, -large}}, {0, 1, {large, 0}}, {1, 0, {large, large}}}});
  EXPECT_EQ(solution.total, (Weight{2 * large, large}));
}

} // namespace
} // namespace etc::assignment
