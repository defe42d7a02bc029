//===- RanksTest.cpp - Virtual ranks and stages ---------------------------===//

#include "Support.h"

using namespace etc;
using namespace etc::layout;
using etc::model::Block;
using etc::request::Parallelism;

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
    EXPECT_EQ(rankOf(parallel, virtualRank(parallel, rank)), rank);
}

// TP2 CP2 PP2 DP2 with stages inside of replicas: tp, cp, pp, dp.
TEST(Ranks, StagesInsideOfReplicas) {
  Parallelism parallel = {.pp = 2, .tp = 2, .dp = 2, .cp = 2};
  parallel.order = etc::request::RankOrder::TpCpEpPpDp;
  // i = tp 1 + 2 x (cp 1 + 2 x dp 1) = 7 is slot 1 of replica 3.
  EXPECT_EQ(rankOf(parallel, {{0, 1}, 3}), 3 + 4 * (0 + 2 * 1));
  EXPECT_EQ(rankOf(parallel, {{1, 0}, 0}), 4);
  for (int64_t rank = 0; rank < parallel.world(); ++rank)
    EXPECT_EQ(rankOf(parallel, virtualRank(parallel, rank)), rank);
}

// TP2 DP6, experts ETP1 EP4: 12 ranks a stage, the weights repeat after 4.
TEST(Ranks, ReplicasOfExpertGrids) {
  Parallelism parallel = {.pp = 2, .tp = 2, .dp = 6, .ep = 4, .etp = 1};
  EXPECT_EQ(parallel.slots(), 4);
  EXPECT_EQ(parallel.replicas(), 3);
  EXPECT_EQ(virtualRank(parallel, 12 + 7), (VirtualRank{{1, 3}, 1}));
  for (int64_t rank = 0; rank < parallel.world(); ++rank)
    EXPECT_EQ(rankOf(parallel, virtualRank(parallel, rank)), rank);
}

// A role is one of its replica's only where replicas differ.
TEST(Ranks, OnlyTheDistributedOptimizersRolesHaveAReplica) {
  Parallelism parallel = {1, 2, 3};
  EXPECT_EQ(virtualRank(parallel, 5).role, (Role{0, 1, 0}));
  parallel.distributedOptimizer = true;
  EXPECT_EQ(virtualRank(parallel, 5), (VirtualRank{{0, 1, 2}, 2}));
}

// Megatron: 2 stages, 2 chunks, 8 layers: stage 0 holds 0, 1, 4, 5.
TEST(Ranks, InterleavedStages) {
  Parallelism parallel = {.pp = 2, .vpp = 2};
  EXPECT_EQ(layersOf(8, parallel, 0), (std::vector<Span>{{0, 2}, {4, 6}}));
  EXPECT_EQ(layersOf(8, parallel, 1), (std::vector<Span>{{2, 4}, {6, 8}}));
}

TEST(Ranks, UnevenAndEmptyStages) {
  Parallelism parallel = {.pp = 3, .vpp = 2, .stages = {1, 3, 0, 2, 0, 2}};
  EXPECT_EQ(layersOf(8, parallel, 0), (std::vector<Span>{{0, 1}, {4, 6}}));
  EXPECT_EQ(layersOf(8, parallel, 1), (std::vector<Span>{{1, 4}}));
  EXPECT_EQ(layersOf(8, parallel, 2), (std::vector<Span>{{6, 8}}));
}

TEST(Ranks, StagesAreEvenAndContiguous) {
  EXPECT_EQ(layersOf(36, {6, 1, 1}, 0), (std::vector<Span>{{0, 6}}));
  EXPECT_EQ(layersOf(36, {6, 1, 1}, 5), (std::vector<Span>{{30, 36}}));
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
