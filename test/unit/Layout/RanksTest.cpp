//===- RanksTest.cpp - Virtual ranks and stages ---------------------------===//

#include "Support.h"

using namespace etc::layout;
using etc::config::Parallelism;
using etc::model::Block;

TEST(Ranks, MegatronsOrder) {
  Parallelism parallel = {2, 2, 3};
  EXPECT_EQ(rankOf(parallel, {{0, 1}, 0}), 1);
  EXPECT_EQ(rankOf(parallel, {{0, 0}, 1}), 2);
  EXPECT_EQ(rankOf(parallel, {{1, 0}, 0}), 6);
  EXPECT_EQ(rankOf(parallel, {{1, 1}, 2}), 11);
}

TEST(Ranks, PlaceOfIsTheInverse) {
  Parallelism parallel = {3, 4, 5};
  for (int64_t rank = 0; rank < parallel.world(); ++rank)
    EXPECT_EQ(rankOf(parallel, placeOf(parallel, rank)), rank);
}

TEST(Ranks, StagesAreEvenAndContiguous) {
  EXPECT_EQ(layersOf(36, {6, 1, 1}, 0), (std::vector<Range>{{0, 6}}));
  EXPECT_EQ(layersOf(36, {6, 1, 1}, 5), (std::vector<Range>{{30, 36}}));
}

TEST(Ranks, EndsOfTheModel) {
  Parallelism parallel = {3, 1, 1};
  EXPECT_TRUE(stageHolds(smallModel(), Block::Embed, parallel, 0));
  EXPECT_FALSE(stageHolds(smallModel(), Block::Embed, parallel, 2));
  EXPECT_TRUE(stageHolds(smallModel(), Block::Layer, parallel, 1));
  EXPECT_FALSE(stageHolds(smallModel(), Block::Final, parallel, 1));
  EXPECT_TRUE(stageHolds(smallModel(), Block::Final, parallel, 2));
  EXPECT_TRUE(stageHolds(smallModel(), Block::Head, parallel, 2));
}
