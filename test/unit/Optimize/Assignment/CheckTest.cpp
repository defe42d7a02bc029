// One malformed problem for each way to be malformed.

#include "etc/Optimize/Assignment/Problem.h"

#include <gtest/gtest.h>

#include <limits>

namespace etc::assignment {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

std::string errorOf(const Problem &problem) {
  return check(problem).value_or("well formed");
}

TEST(CheckTest, WellFormed) {
  EXPECT_EQ(errorOf({}), "well formed");
  EXPECT_EQ(
      errorOf(
          {{2, 0}, {1, 3}, {{0, 0, {0, 1}}, {0, 1, {1, -5}}, {1, 0, {2, 2}}}}),
      "well formed");
  EXPECT_EQ(errorOf({{kMax}, {kMax}, {{0, 0, {0, 1}}}}), "well formed");
}

TEST(CheckTest, P1Counts) {
  EXPECT_EQ(errorOf({{2, -1}, {1}, {}}),
            "supply[1]: must be at least 0, got -1");
  EXPECT_EQ(errorOf({{2}, {-7}, {}}),
            "capacity[0]: must be at least 0, got -7");
  EXPECT_EQ(errorOf({{kMax, 1}, {}, {}}),
            "supply[1]: the sum exceeds 2^63 - 1");
}

TEST(CheckTest, P2Ends) {
  EXPECT_EQ(errorOf({{1}, {1}, {{1, 0, {0, 1}}}}),
            "edges[0].row: 1 is not in [0, 1)");
  EXPECT_EQ(errorOf({{1}, {1}, {{0, -1, {0, 1}}}}),
            "edges[0].col: -1 is not in [0, 1)");
}

TEST(CheckTest, P3Weights) {
  EXPECT_EQ(errorOf({{1}, {1}, {{0, 0, {0, 0}}}}),
            "edges[0].weight: must be greater than (0, 0), got (0, 0)");
  EXPECT_EQ(errorOf({{1}, {1}, {{0, 0, {-1, 9}}}}),
            "edges[0].weight: must be greater than (0, 0), got (-1, 9)");
}

TEST(CheckTest, P4Order) {
  const char *repeated = "edges[1]: must come after the edge before it by "
                         "(row, col), got (0, 1) after (0, 1)";
  EXPECT_EQ(errorOf({{1}, {1, 1}, {{0, 1, {0, 1}}, {0, 1, {0, 2}}}}), repeated);
  const char *unsorted = "edges[1]: must come after the edge before it by "
                         "(row, col), got (0, 1) after (1, 0)";
  EXPECT_EQ(errorOf({{1, 1}, {1, 1}, {{1, 0, {0, 1}}, {0, 1, {0, 2}}}}),
            unsorted);
}

TEST(CheckTest, P5Magnitudes) {
  EXPECT_EQ(
      errorOf({{1}, {1}, {{0, 0, {0, kMax}}}}),
      "edges[0].weight: (0, 9223372036854775807) is too large for 2 classes");
  EXPECT_EQ(
      errorOf({{1}, {1}, {{0, 0, {1, -kMax - 1}}}}),
      "edges[0].weight: (1, -9223372036854775808) is too large for 2 classes");
  EXPECT_EQ(errorOf({{1, kMax / 2}, {1}, {{0, 0, {0, 3}}, {1, 0, {0, 3}}}}),
            "supply[1]: the total weight may exceed 2^63 - 1");
}

} // namespace
} // namespace etc::assignment
