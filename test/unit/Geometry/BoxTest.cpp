#include "etc/Geometry.h"

#include <gtest/gtest.h>

using namespace etc;

/// Spans that tell the axes apart: more than a box has room for in itself.
static Box boxOfRank(unsigned rank) {
  Box box(rank);
  for (unsigned axis = 0; axis != rank; ++axis)
    box[axis] = {axis, 2 * axis + 1};
  return box;
}

TEST(BoxTest, CopiesAreBoxesOfTheirOwn) {
  for (unsigned rank : {0, 1, 3, 4, 8}) {
    const Box original = boxOfRank(rank);
    Box copy = original, assigned = boxOfRank(5);
    assigned = copy;
    EXPECT_EQ(copy, original);
    EXPECT_EQ(assigned, original);
    if (rank == 0)
      continue;
    copy[rank - 1] = {100, 200};
    EXPECT_NE(copy, original);
    EXPECT_EQ(assigned, original);
  }
}

TEST(BoxTest, WhatIsMovedFromHasNoAxes) {
  for (unsigned rank : {1, 3, 4, 8}) {
    Box box = boxOfRank(rank);
    Box moved = std::move(box);
    EXPECT_EQ(moved, boxOfRank(rank));
    // NOLINTNEXTLINE(bugprone-use-after-move): the subject of this test
    EXPECT_EQ(box.rank(), 0u);
    box = std::move(moved);
    EXPECT_EQ(box, boxOfRank(rank));
    // NOLINTNEXTLINE(bugprone-use-after-move)
    EXPECT_EQ(moved.rank(), 0u);
  }
}

TEST(BoxTest, ABoxAndItsViewAreEqual) {
  const int64_t bounds[] = {1, 5, 0, 3};
  const BoxView view = BoxView::ofBounds(bounds, 2);
  EXPECT_EQ(view, (Box{{1, 5}, {0, 3}}));
  EXPECT_EQ(Box(view), view);
  EXPECT_EQ(view[1], (Span{0, 3}));
  EXPECT_NE(view, (Box{{1, 5}, {0, 4}}));
  EXPECT_NE(view, (Box{{1, 5}}));
}

TEST(BoxTest, TheFirstAxisThatDiffersOrders) {
  EXPECT_LT((Box{{0, 5}, {9, 10}}), (Box{{0, 6}, {0, 1}}));
  EXPECT_LT((Box{{0, 5}, {0, 1}}), (Box{{0, 5}, {0, 2}}));
  EXPECT_LT((Box{{0, 5}}), (Box{{0, 5}, {0, 2}}));
}

TEST(BoxTest, AShapeHasABox) {
  EXPECT_EQ(boxOfShape(std::vector<int64_t>{4, 6}), (Box{{0, 4}, {0, 6}}));
  EXPECT_EQ(boxOfShape(std::vector<int64_t>{}).rank(), 0u);
}

TEST(BoxTest, IsDescribedAxisByAxis) {
  EXPECT_EQ(describe(Box{{0, 384}, {7, 3072}}), "[0:384, 7:3072]");
  EXPECT_EQ(describe(Box{{0, 1}}), "[0:1]");
  EXPECT_EQ(describe(Box()), "[]");
}

TEST(BoxTest, TheVolumeOfAScalarIsOne) {
  EXPECT_EQ(volume(Box()), 1u);
  EXPECT_EQ(volume(Box{{2, 5}, {1, 5}}), 12u);
  EXPECT_EQ(volume(Box{{2, 5}, {4, 4}}), 0u);
}

TEST(BoxTest, BoxesThatTouchShareNothing) {
  const Box left{{0, 4}, {0, 3}}, right{{0, 4}, {3, 6}};
  EXPECT_FALSE(intersects(left, right));
  EXPECT_EQ(intersect(left, right), std::nullopt);
  EXPECT_EQ(sharedVolume(left, right), 0u);
}

TEST(BoxTest, IsCutOffBeforeAndBehindAxisByAxis) {
  const Box whole{{0, 10}, {0, 10}}, part{{2, 5}, {4, 10}};
  EXPECT_EQ(subtract(whole, part), (std::vector<Box>{
                                       {{0, 2}, {0, 10}},
                                       {{5, 10}, {0, 10}},
                                       {{2, 5}, {0, 4}},
                                   }));
  EXPECT_EQ(subtract(part, whole), std::vector<Box>());
}

TEST(BoxTest, KeepsWhatLiesApart) {
  const Box whole{{0, 4}}, apart{{7, 9}};
  EXPECT_EQ(subtract(whole, apart), std::vector<Box>{whole});
  EXPECT_EQ(subtract(std::vector<Box>{whole, apart}, Box{{3, 8}}),
            (std::vector<Box>{{{0, 3}}, {{8, 9}}}));
}

TEST(BoxTest, TwoThatOverlapAreNamed) {
  const Box left{{0, 4}, {0, 3}}, right{{0, 4}, {3, 6}}, corner{{3, 5}, {2, 4}};
  using Boxes = std::vector<Box>;
  using Found = std::pair<size_t, size_t>;
  EXPECT_EQ(findOverlap(Boxes{}), std::nullopt);
  EXPECT_EQ(findOverlap(Boxes{left}), std::nullopt);
  EXPECT_EQ(findOverlap(Boxes{left, right}), std::nullopt);
  EXPECT_EQ(findOverlap(Boxes{corner, right}), (Found{0, 1}));
  EXPECT_EQ(findOverlap(Boxes{right, Box{{9, 9}, {0, 9}}, corner}),
            (Found{0, 2}));
}

/// They begin at as many places along both axes, and all meet along the first:
/// five billion comparisons, if that is the one to sweep along.
TEST(BoxTest, StairsAreSweptAlongTheSparserAxis) {
  constexpr int64_t kSteps = 100'000;
  std::vector<Box> stairs;
  for (int64_t i = 0; i != kSteps; ++i)
    stairs.push_back(Box{{i, kSteps}, {i, i + 1}});
  EXPECT_EQ(findOverlap(stairs), std::nullopt);
  stairs.push_back(Box{{kSteps - 1, kSteps}, {7, 8}});
  EXPECT_EQ(findOverlap(stairs), (std::pair<size_t, size_t>{7, kSteps}));
}

namespace {
/// A box that also has a name, as the planner's pieces do.
struct Named {
  using Owner = Named;
  std::string name;
  std::array<Span, 2> spans;

  static constexpr unsigned rank() { return 2; }
  Span &operator[](unsigned axis) { return spans[axis]; }
  const Span &operator[](unsigned axis) const { return spans[axis]; }
};
} // namespace

TEST(BoxTest, PartsOfWhatIsNamedHaveItsName) {
  const Named first{"first", {{{0, 4}, {0, 4}}}},
      second{"second", {{{2, 6}, {0, 4}}}};
  EXPECT_EQ(intersect(first, second)->name, "first");
  EXPECT_EQ(intersect(first, second)->spans[0], (Span{2, 4}));
  std::vector<Named> rest = subtract(first, second);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].name, "first");
  EXPECT_EQ(rest[0].spans[0], (Span{0, 2}));
}
