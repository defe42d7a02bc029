// Who sits where, once the flow is known.

#include "etc/Optimize/Assignment/Expand.h"

#include <gtest/gtest.h>

namespace etc::assignment {
namespace {

using Matches = std::vector<std::vector<Match>>;

constexpr Match kNoMatch{};

TEST(ExpandTest, UnchangedMapsToItself) {
  Problem problem{{2, 2}, {2, 2}, {{0, 0, {0, 1}}, {1, 1, {0, 1}}}};
  Matches matches = expand(problem, std::vector<int64_t>{2, 2});
  EXPECT_EQ(matches, (Matches{{{0, 0}, {0, 1}}, {{1, 0}, {1, 1}}}));
}

// Row 0 keeps member 0 of column 0, and its second replica finds member 1 of
// column 1.
TEST(ExpandTest, EqualIndicesFirst) {
  Problem problem{{2}, {2, 2}, {{0, 0, {0, 1}}, {0, 1, {0, 1}}}};
  EXPECT_EQ(expand(problem, std::vector<int64_t>{1, 1}),
            (Matches{{{0, 0}, {1, 1}}}));
}

// Row 1 finds member 0 taken; equal indices win over the order of the edges.
TEST(ExpandTest, TheOthersLowestWithLowest) {
  Problem problem{{1, 3}, {4}, {{0, 0, {0, 1}}, {1, 0, {0, 1}}}};
  EXPECT_EQ(expand(problem, std::vector<int64_t>{1, 3}),
            (Matches{{{0, 0}}, {{0, 3}, {0, 1}, {0, 2}}}));
}

TEST(ExpandTest, MoreMembersThanReplicas) {
  Problem problem{{1, 1}, {2}, {{0, 0, {0, 1}}, {1, 0, {0, 1}}}};
  EXPECT_EQ(expand(problem, std::vector<int64_t>{1, 1}),
            (Matches{{{0, 0}}, {{0, 1}}}));
}

TEST(ExpandTest, UnmatchedReplicasHaveNoSeat) {
  Problem problem{{3, 1}, {2}, {{0, 0, {0, 1}}}};
  EXPECT_EQ(expand(problem, std::vector<int64_t>{2}),
            (Matches{{{0, 0}, {0, 1}, kNoMatch}, {kNoMatch}}));
  EXPECT_FALSE(kNoMatch.isMade());
}

} // namespace
} // namespace etc::assignment
