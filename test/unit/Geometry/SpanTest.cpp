#include "etc/Geometry.h"

#include <gtest/gtest.h>

using namespace etc;

TEST(SpanTest, HasPositionsFromItsBeginToBeforeItsEnd) {
  EXPECT_EQ((Span{3, 7}.size()), 4);
  EXPECT_TRUE((Span{3, 3}.empty()));
  EXPECT_FALSE((Span{3, 4}.empty()));
  EXPECT_TRUE(Span().empty());
}

TEST(SpanTest, ContainsWhatLiesWithinIt) {
  EXPECT_TRUE((Span{3, 7}.contains({3, 7})));
  EXPECT_TRUE((Span{3, 7}.contains({4, 6})));
  EXPECT_FALSE((Span{3, 7}.contains({2, 5})));
  EXPECT_FALSE((Span{3, 7}.contains({5, 8})));
}

TEST(SpanTest, IsShiftedAsAWhole) {
  EXPECT_EQ((Span{3, 7}.shifted(10)), (Span{13, 17}));
  EXPECT_EQ((Span{3, 7}.shifted(-3)), (Span{0, 4}));
}

TEST(SpanTest, IsOrderedByBeginThenEnd) {
  EXPECT_LT((Span{3, 9}), (Span{4, 5}));
  EXPECT_LT((Span{3, 5}), (Span{3, 9}));
  EXPECT_EQ((Span{3, 5}), (Span{3, 5}));
}

TEST(SpanTest, IntersectionsThatAreEmptyHaveNoNegativeSize) {
  EXPECT_EQ(intersect(Span{0, 5}, Span{3, 9}), (Span{3, 5}));
  for (Span apart : {Span{5, 9}, Span{7, 9}}) { // touching, and not
    EXPECT_TRUE(intersect(Span{0, 5}, apart).empty());
    EXPECT_FALSE(intersects(Span{0, 5}, apart));
  }
  EXPECT_FALSE(intersects(Span{0, 5}, Span{3, 3}));
  EXPECT_TRUE(intersects(Span{0, 5}, Span{4, 9}));
}
