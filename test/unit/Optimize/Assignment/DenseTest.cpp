// The Hungarian method, against every permutation.

#include "etc/Optimize/Assignment/Dense.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace etc::assignment {
namespace {

using Columns = std::vector<int64_t>;

int64_t totalOf(const Columns &columns, const std::vector<int64_t> &costs) {
  int64_t total = 0, size = std::ssize(columns);
  for (int64_t row = 0; row < size; ++row)
    total += costs[row * size + columns[row]];
  return total;
}

int64_t leastTotal(int64_t size, const std::vector<int64_t> &costs) {
  Columns columns(size);
  std::iota(columns.begin(), columns.end(), 0);
  int64_t least = totalOf(columns, costs);
  while (std::next_permutation(columns.begin(), columns.end()))
    least = std::min(least, totalOf(columns, costs));
  return least;
}

TEST(DenseTest, Nothing) { EXPECT_EQ(solveDense(0, {}), Columns{}); }

// 1 + 2 + 2; the greedy choice of 0 would cost 0 + 2 + 9.
TEST(DenseTest, Small) {
  std::vector<int64_t> costs = {4, 1, 3, 2, 0, 5, 3, 2, 2};
  EXPECT_EQ(solveDense(3, costs), (Columns{1, 0, 2}));
}

TEST(DenseTest, TiesGoToTheLowestColumn) {
  EXPECT_EQ(solveDense(3, std::vector<int64_t>(9, 0)), (Columns{0, 1, 2}));
}

// The paper's own padding: two rows of current ranks, two of zeros.
TEST(DenseTest, PaddingTakesWhatIsLeft) {
  std::vector<int64_t> costs = {4, 4, 8, 8, 8, 8, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(solveDense(4, costs), (Columns{0, 2, 1, 3}));
}

TEST(DenseTest, EveryPermutation) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    int64_t size = 1 + random() % 6;
    std::vector<int64_t> costs(size * size);
    for (int64_t &cost : costs)
      cost = random() % 7;
    Columns columns = solveDense(size, costs);
    Columns sorted = columns;
    std::sort(sorted.begin(), sorted.end());
    for (int64_t column = 0; column < size; ++column)
      ASSERT_EQ(sorted[column], column);
    EXPECT_EQ(totalOf(columns, costs), leastTotal(size, costs));
  }
}

} // namespace
} // namespace etc::assignment
