// Merging against comparing everything with everything.

#include "etc/Optimize/Assignment/Overlap.h"
#include "RandomProblems.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace etc::assignment::testing {
namespace {

using Family = std::vector<Span>;

int64_t shared(Span a, Span b) {
  return std::max<int64_t>(0,
                           std::min(a.end, b.end) - std::max(a.begin, b.begin));
}

std::vector<Edge> allPairs(const BoxGrid &roles, const BoxGrid &devices) {
  std::vector<Edge> edges;
  int32_t row = 0;
  for (Span roleLayers : roles.layers)
    for (Span roleSlices : roles.slices) {
      int32_t col = 0;
      for (Span layers : devices.layers)
        for (Span slices : devices.slices) {
          int64_t weight =
              shared(roleLayers, layers) * shared(roleSlices, slices);
          if (weight > 0)
            edges.push_back({row, col, {0, weight}});
          ++col;
        }
      ++row;
    }
  return edges;
}

TEST(OverlapTest, IntervalsAscendAndAreDisjoint) {
  EXPECT_EQ(checkIntervals(Family{{0, 2}, {2, 2}, {2, 5}, {9, 10}}),
            std::nullopt);
  EXPECT_EQ(checkIntervals(Family{{0, 2}, {3, 1}}).value_or(""),
            "intervals[1]: [3, 1) ends before it begins");
  EXPECT_EQ(checkIntervals(Family{{0, 2}, {1, 3}}).value_or(""),
            "intervals[1]: [1, 3) begins before 2, the end of the interval "
            "before it");
}

TEST(OverlapTest, Example) {
  std::vector<Overlap> result =
      overlaps(Family{{0, 4}, {4, 8}}, Family{{0, 3}, {3, 6}, {6, 8}});
  ASSERT_EQ(result.size(), 4u);
  EXPECT_EQ(result[1].first, 0);
  EXPECT_EQ(result[1].second, 1);
  EXPECT_EQ(result[1].length, 1);
}

TEST(OverlapTest, EdgesOfAGrid) {
  BoxGrid roles{{{0, 2}, {2, 4}}, {{0, 2}}};
  BoxGrid devices{{{0, 4}}, {{0, 1}, {1, 2}}};
  std::vector<Edge> expected{
      {0, 0, {0, 2}}, {0, 1, {0, 2}}, {1, 0, {0, 2}}, {1, 1, {0, 2}}};
  EXPECT_EQ(overlapEdges(roles, devices), expected);
}

TEST(OverlapTest, RandomGridsEqualAllPairs) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    auto family = [&random] {
      int64_t extent = random.in(0, 20);
      return unevenIntervals(extent, random.in(1, 6), random);
    };
    BoxGrid roles{family(), family()};
    BoxGrid devices{family(), family()};
    std::vector<Edge> edges = overlapEdges(roles, devices);
    EXPECT_EQ(edges, allPairs(roles, devices));
    EXPECT_LE(edges.size(),
              (roles.layers.size() + devices.layers.size() - 1) *
                  (roles.slices.size() + devices.slices.size() - 1));
  }
}

} // namespace
} // namespace etc::assignment::testing
