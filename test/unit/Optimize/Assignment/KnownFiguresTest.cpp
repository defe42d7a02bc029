// Reconfigurations whose least possible movement is known. A unit is one layer
// x one slice of LCM(TP, TP').

#include "RandomProblems.h"
#include "etc/Optimize/Assignment/Solver.h"

#include <gtest/gtest.h>

#include <numeric>

namespace etc::assignment::testing {
namespace {

struct Figure {
  const char *name;
  int64_t layers;
  Parallel prev;
  Parallel curr;
  int64_t all;   // units that the current state is made of
  int64_t moved; // the least possible
};

void expectFigure(const Figure &figure, const Problem &problem) {
  SCOPED_TRACE(figure.name);
  ASSERT_EQ(check(problem), std::nullopt);
  Solution solution = solve(problem);
  EXPECT_EQ(verify(problem, solution), std::nullopt);
  int64_t all =
      figure.layers * std::lcm(figure.prev.tp, figure.curr.tp) * figure.curr.dp;
  EXPECT_EQ(all, figure.all);
  EXPECT_EQ(all - solution.total.device, figure.moved);
}

TEST(KnownFiguresTest, EvenStages) {
  const Figure figures[] = {
      {"PP8TP1 -> PP16TP1", 32, {8, 1, 1}, {16, 1, 1}, 32, 16},
      {"PP4TP2 -> PP4TP4", 36, {4, 2, 1}, {4, 4, 1}, 144, 72},
      {"PP4TP4 -> PP4TP2", 36, {4, 4, 1}, {4, 2, 1}, 144, 72},
      {"PP4TP2 -> PP6TP4", 36, {4, 2, 1}, {6, 4, 1}, 144, 96},
      {"PP6TP4 -> PP4TP2", 36, {6, 4, 1}, {4, 2, 1}, 144, 96},
      {"PP4TP2DP3 -> PP4TP8DP1", 36, {4, 2, 3}, {4, 8, 1}, 288, 72},
      {"PP16TP1 -> PP8TP1", 32, {16, 1, 1}, {8, 1, 1}, 32, 16},
      {"PP4 -> PP2", 16, {4, 1, 1}, {2, 1, 1}, 16, 8},
  };
  for (const Figure &figure : figures)
    expectFigure(figure,
                 reconfiguration(figure.layers, figure.prev, figure.curr));
}

// Solving the dimensions one after the other would keep 32 units, not 64.
TEST(KnownFiguresTest, DimensionsMustBeSolvedTogether) {
  Figure figure{"PP8TP2 -> PP4TP4", 32, {8, 2, 1}, {4, 4, 1}, 128, 64};
  expectFigure(figure,
               reconfiguration(figure.layers, figure.prev, figure.curr));
}

TEST(KnownFiguresTest, LlamaStages) {
  const Figure figures[] = {
      {"TP8PP16DP64 -> TP8PP8DP128",
       126,
       {16, 8, 64},
       {8, 8, 128},
       129024,
       64512},
      {"TP8PP16DP64 -> TP16PP8DP64",
       126,
       {16, 8, 64},
       {8, 16, 64},
       129024,
       64512},
      {"TP8PP8DP128 -> TP8PP16DP64", 126, {8, 8, 128}, {16, 8, 64}, 64512, 0},
      {"TP8PP16DP64 -> DP48", 126, {16, 8, 64}, {16, 8, 48}, 48384, 0},
  };
  for (const Figure &figure : figures)
    expectFigure(figure,
                 llamaReconfiguration(figure.layers, figure.prev, figure.curr));
}

// One component of 16256 x 16256 classes, each of size one.
TEST(KnownFiguresTest, CoprimeGrids) {
  Problem problem = reconfiguration(127 * 128, {127, 128, 1}, {128, 127, 1});
  EXPECT_EQ(problem.edges.size(), 254u * 254u);
  Solution solution = solve(problem);
  EXPECT_EQ(verify(problem, solution), std::nullopt);
}

} // namespace
} // namespace etc::assignment::testing
