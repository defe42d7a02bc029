// Lists whose copies share their elements.

#include "etc/Optimize/Rounds/SharedList.h"

#include <gtest/gtest.h>

namespace etc::rounds {
namespace {

const int *dataOf(const SharedList<int> &list) { return list.begin(); }

TEST(SharedListTest, CopiesShareUntilOneIsChanged) {
  SharedList<int> one = {1, 2};
  SharedList<int> other = one;
  EXPECT_EQ(dataOf(one), dataOf(other));
  other[1] = 3;
  EXPECT_NE(dataOf(one), dataOf(other));
  EXPECT_EQ(one, (SharedList<int>{1, 2}));
  EXPECT_EQ(other, (SharedList<int>{1, 3}));
}

// What nobody shares is changed in place.
TEST(SharedListTest, OwnElementsAreNotCopied) {
  SharedList<int> list = {1, 2};
  const int *before = dataOf(list);
  list[0] = 5;
  EXPECT_EQ(dataOf(list), before);
}

TEST(SharedListTest, EqualWhereElementsAre) {
  SharedList<int> empty, one;
  EXPECT_EQ(empty, one);
  one.push_back(1);
  EXPECT_FALSE(empty == one);
  EXPECT_FALSE(one == (SharedList<int>{1, 2}));
  EXPECT_EQ(one, SharedList<int>(std::vector<int>{1}));
}

} // namespace
} // namespace etc::rounds
