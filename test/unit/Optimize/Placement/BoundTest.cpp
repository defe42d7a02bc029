// The assignments that bound what placements keep.

#include "etc/Optimize/Placement/Bound.h"

#include <gtest/gtest.h>

namespace etc::placement {
namespace {

// Of three holders of one previous role, two current roles keep 16 each on
// two replicas: the bound is what the holders have, 3 * 16.
TEST(BoundTest, MembersAreWhatIsShortest) {
  BenefitTable table({0, 1}, {0});
  table.atGroups(0, 0) = table.atGroups(1, 0) = 16;
  const assignment::GroupedProblem problem = poseBound(table, 2, {3});
  ASSERT_EQ(problem.check(), std::nullopt);
  EXPECT_EQ(problem.solve().solution.total, (assignment::Weight{0, 48}));
}

// Roles of one group share 16 with any device of the other; a span of 4 more
// tells the second column apart, and the first role takes it.
TEST(BoundTest, SpansTellMembersApart) {
  BenefitTable table({0, 0}, {0, 0});
  table.atGroups(0, 0) = 16;
  table.add(0, 1, 4);
  table.add(1, 1, 3);
  const assignment::GroupedProblem problem = poseBound(table, 1, {1, 1});
  ASSERT_EQ(problem.check(), std::nullopt);
  EXPECT_EQ(problem.solve().solution.total, (assignment::Weight{0, 36}));
}

TEST(BoundTest, WhatIsNegativeIsRefused) {
  BenefitTable table({0}, {0});
  table.atGroups(0, 0) = -1;
  EXPECT_NE(poseBound(table, 1, {1}).check(), std::nullopt);
}

} // namespace
} // namespace etc::placement
