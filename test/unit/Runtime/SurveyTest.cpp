// What the members of a recovery hold together, on a plan made by hand: devices
// 0 and 1 begin with the embedding, devices 2 and 3 with the layer.

#include "PlanFixture.h"

#include "core/device/HostWorker.h"
#include "recovery/Refill.h"
#include "recovery/Slabs.h"
#include "recovery/Survey.h"

#include <gtest/gtest.h>

using namespace etc;
using namespace etc::runtime;
using namespace etc::plan::test;

namespace {

constexpr uint64_t kPlan = 7;
// Tensors of twoStagePlan().
constexpr uint32_t kEmbedding = 0, kLayer = 1, kMaster = 2, kHead = 4;

Standing after(uint32_t rounds) {
  Standing standing = standingBefore();
  standing.landed = standing.acknowledged = standing.released = rounds;
  return standing;
}

RecoveryMember member(uint32_t device, int64_t version, Standing standing) {
  return {device, device + 100, version, {{kPlan, standing}}};
}

class SurveyTest : public testing::Test {
protected:
  SurveyTest()
      : bytes(etc::plan::packPlan(twoStagePlan())),
        index(*etc::plan::fb::GetPlan(bytes.data())) {}

  Result<Survey> take(const std::vector<RecoveryMember> &members) const {
    return survey(index, kPlan, members, std::nullopt);
  }

  std::vector<uint8_t> bytes;
  PlanIndex index;
  std::unique_ptr<Worker> worker = makeHostWorker();
};

TEST_F(SurveyTest, TheNewestCompleteVersionIsTaken) {
  auto found =
      take({member(0, 5, standingBefore()), member(1, 6, standingBefore()),
            member(2, 6, standingBefore()), member(3, 5, standingBefore())});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->version, 6);
  EXPECT_EQ(found->dropped, (std::vector<uint32_t>{0, 3}));
  EXPECT_FALSE(found->inventory[0].has_value());
  EXPECT_TRUE(found->inventory[1].has_value());
}

TEST_F(SurveyTest, ANewerOneThatIsNotCompleteIsNot) {
  auto found =
      take({member(0, 5, standingBefore()), member(2, 5, standingBefore()),
            member(3, 6, standingBefore())});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->version, 5);
  EXPECT_EQ(found->dropped, (std::vector<uint32_t>{3}));
}

TEST_F(SurveyTest, WhatIsLostIsNamed) {
  auto found =
      take({member(0, 5, standingBefore()), member(2, 6, standingBefore())});
  EXPECT_EQ(found.status().kind(), ErrorKind::Usage);
  EXPECT_EQ(found.status().message(),
            "nobody holds embedding.weight (param)[0:5, 0:4] of step 6, 40 "
            "bytes; a checkpoint of that step can have them");
  found = take({member(0, 5, standingBefore())});
  EXPECT_EQ(found.status().message(),
            "nobody holds layer.weight (param)[0:4, 0:4] of step 5 and 1 more "
            "boxes, 96 bytes; a checkpoint of that step can have them");
}

TEST_F(SurveyTest, TheMiddleOfAMigrationIsComplete) {
  auto found = take({member(0, 5, after(1)), member(2, 5, after(1))});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->side, Side::Prev);
  found =
      take({member(0, 5, standingAfter(2)), member(2, 5, standingAfter(2))});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->side, Side::Curr);
}

TEST_F(SurveyTest, WhatCanBeCastIsNotLost) {
  // Devices 0 and 1 are gone with the upper half of the embedding, and with
  // that of the layer, whose master is on 2 and 3 until the second round.
  const Status lost =
      take({member(2, 5, after(1)), member(3, 5, after(1))}).status();
  EXPECT_EQ(lost.message(),
            "nobody holds embedding.weight (param)[0:3, 0:4] of step 5, 24 "
            "bytes; a checkpoint of that step can have them");
}

TEST_F(SurveyTest, AMemberMakesWhatNobodyHoldsUnderItsName) {
  // As when device 0 stopped before the first round had landed there, while its
  // senders have released the layer: only the master has the upper half.
  auto found = take({member(0, 5, standingBefore()), member(2, 5, after(1))});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ((*found->inventory[2])[kLayer],
            (std::vector<Box>{{{2, 4}, {0, 4}}, {{0, 2}, {0, 4}}}));

  // It is made by a cast of the master that device 2 has.
  std::vector<float> master(16);
  for (size_t i = 0; i != master.size(); ++i)
    master[i] = static_cast<float>(i);
  HeldMemory held{&index, {}, [&](const HeldShard &shard) {
                    return shard.tensor == kMaster
                               ? reinterpret_cast<const std::byte *>(
                                     master.data())
                               : nullptr;
                  }};
  for (const HeldShard &shard :
       heldShards(index, index.participant(2).program, after(1)))
    if (shard.tensor == kMaster)
      held.shards.push_back(shard);
  ASSERT_EQ(held.shards.size(), 1u);
  std::vector<uint16_t> made(8);
  const Box upper{{0, 2}, {0, 4}};
  auto restored = refill(
      held, nullptr, index, kLayer,
      {reinterpret_cast<std::byte *>(made.data()), BoxView(upper)}, *worker);
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  EXPECT_EQ(*restored, 0u);
  for (size_t i = 0; i != made.size(); ++i)
    EXPECT_EQ(made[i], castToBf16(static_cast<float>(i))) << i;

  // What it does not hold is refused.
  restored = refill(
      held, nullptr, index, kEmbedding,
      {reinterpret_cast<std::byte *>(made.data()), BoxView(upper)}, *worker);
  EXPECT_EQ(restored.status().message(),
            "the plan takes embedding.weight (param)[0:2, 0:4] from this "
            "device, which does not hold it; plan from the recovery's "
            "inventory");
}

TEST_F(SurveyTest, TwinsAreCopied) {
  std::vector<uint16_t> head{1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                             11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  const uint32_t shard = index.holdings(0, Side::Prev)[0].shard;
  HeldMemory held{&index, {}, [&](const HeldShard &) {
                    return reinterpret_cast<const std::byte *>(head.data());
                  }};
  held.shards = {{Side::Prev, kEmbedding, shard, false, {Box{{0, 5}, {0, 4}}}}};
  std::vector<uint16_t> made(4);
  const Box row{{3, 4}, {0, 4}};
  auto restored = refill(
      held, nullptr, index, kHead,
      {reinterpret_cast<std::byte *>(made.data()), BoxView(row)}, *worker);
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  EXPECT_EQ(made, (std::vector<uint16_t>{13, 14, 15, 16}));
}

TEST(Slabs, AreContiguousAndAll) {
  const Box box{{2, 3}, {10, 15}, {0, 4}};
  EXPECT_EQ(cutIntoSlabs(box, 8),
            (std::vector<Box>{{{2, 3}, {10, 12}, {0, 4}},
                              {{2, 3}, {12, 14}, {0, 4}},
                              {{2, 3}, {14, 15}, {0, 4}}}));
  EXPECT_EQ(cutIntoSlabs(box, 1).size(), 5u);
  EXPECT_EQ(cutIntoSlabs(box, 100), std::vector<Box>{box});
  const Box one{{7, 8}, {3, 4}}, scalar;
  EXPECT_EQ(cutIntoSlabs(one, 1), std::vector<Box>{one});
  EXPECT_EQ(cutIntoSlabs(scalar, 1), std::vector<Box>{scalar});
}

TEST_F(SurveyTest, ACommonPlanIsOneThatAllHoldersName) {
  RecoveryMember both{
      0, 100, 5, {{6, standingAfter(2)}, {kPlan, standingBefore()}}};
  auto plan = findCommonPlan({both, member(1, 5, after(1)), {2, 102, 0, {}}});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(*plan, kPlan);
  EXPECT_EQ(
      findCommonPlan({member(0, 5, after(1)), {1, 101, 5, {{6, after(1)}}}})
          .status()
          .message(),
      "the members are not at one plan: some of them hold state of an "
      "earlier or a later change");
  EXPECT_EQ(findCommonPlan({{1, 101, 0, {}}}).status().message(),
            "no member holds state");
}

} // namespace
