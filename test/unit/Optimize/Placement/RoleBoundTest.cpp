// A time that no assignment of roles is below.

#include "etc/Optimize/Placement/RoleBound.h"

#include <gtest/gtest.h>

using namespace etc::placement;

/// Two roles of 100 bytes each, both on node 0 before, of two nodes with two
/// devices and NICs of 10 bytes a second each.
static RoleTimes twoNodes() {
  RoleTimes times;
  times.rows = 2;
  times.replicas = 2;
  times.mostCells = 2;
  times.linkRate = 100;
  times.nicRate = 10;
  times.columns = {{{{2, true}}, 2, 2}, {{{2, true}}, 2, 0}};
  times.contents = {{{0}, 2, 2, 100, {0, 100}}, {{1}, 2, 2, 100, {0, 100}}};
  return times;
}

/// Two ranks have to be on node 1. They may be of one role, whose bytes then
/// enter once.
TEST(RoleBoundTest, RanksThatShareBytesOnAFreshNode) {
  const auto bound = findRoleBound(twoNodes());
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->witness, RoleWitness::Each);
  EXPECT_EQ(bound->inside, std::vector<int64_t>{1});
  EXPECT_EQ(bound->bytes, 100);
  EXPECT_EQ(bound->rate, 20);
}

/// Where ranks of a role are on different nodes, both roles enter node 1.
TEST(RoleBoundTest, RanksThatAreNotTogether) {
  RoleTimes times = twoNodes();
  for (RoleContent &content : times.contents)
    content.together = 1;
  const auto bound = findRoleBound(times);
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->bytes, 200);
  EXPECT_EQ(bound->rate, 20);
}

/// Half of the bytes are on the other node, whichever of the two is kept.
TEST(RoleBoundTest, FewestNodes) {
  RoleTimes times = twoNodes();
  times.replicas = 1;
  times.mostCells = 1;
  times.columns[1].holders = 2;
  times.contents = {{{0}, 1, 1, 100, {0, 100}}, {{1}, 1, 1, 100, {100, 0}}};
  const auto bound = findRoleBound(times);
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->witness, RoleWitness::Fewest);
  EXPECT_EQ(bound->bytes, 100);
  EXPECT_EQ(bound->rate, 20);
  EXPECT_TRUE(bound->u.empty());
}

TEST(RoleBoundTest, NothingHasToMove) {
  RoleTimes times = twoNodes();
  times.replicas = 1;
  EXPECT_FALSE(findRoleBound(times));
}
