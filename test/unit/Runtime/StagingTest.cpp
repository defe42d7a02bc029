// What lies where in slabs, and which rounds may overlap.

#include "../../faults/RingPlan.h"
#include "PlanFixture.h"

#include "core/engine/RoundOverlap.h"
#include "core/plan/PlanFile.h"

#include <gtest/gtest.h>

using namespace etc::runtime;
using namespace etc::plan::test;
namespace fb = etc::plan::fb;

namespace {

class Opened {
public:
  explicit Opened(fb::PlanT plan)
      : bytes(etc::plan::packPlan(std::move(plan))),
        index(*fb::GetPlan(bytes.data())) {}

private:
  std::vector<uint8_t> bytes;

public:
  PlanIndex index;
};

/// A ring whose slabs have room for so many rounds.
fb::PlanT ring(int64_t rows, uint64_t slabs, uint64_t more = 0) {
  fb::PlanT plan = ringPlan(/*devices=*/2, /*rounds=*/4, rows);
  for (auto &program : plan.programs) {
    const uint64_t added = (slabs - 1) * 2 * program->send_slab;
    program->send_slab *= slabs, program->recv_slab *= slabs;
    program->peak += added + more, program->peak_safe += added;
  }
  return plan;
}

RoundOverlap overlapOf(const PlanIndex &index, Mode mode) {
  return {index, 0, mode, Staging(index, 0, 0)};
}

TEST(Staging, PiecesBeginAtMultiplesOfSixteen) {
  constexpr uint64_t large = 300'000;
  MessagePieces pieces(kPieceAlignment, 0);
  // Small ones share a piece, without gaps.
  EXPECT_EQ(pieces.add(10, false).offset, 0u);
  MessagePieces::Place second = pieces.add(3, false);
  EXPECT_FALSE(second.isNew);
  EXPECT_EQ(second.offset, 10u);
  // What goes directly takes no room.
  EXPECT_TRUE(pieces.add(large, true).isNew);
  MessagePieces::Place third = pieces.add(large + 1, false);
  EXPECT_TRUE(third.isNew);
  EXPECT_EQ(third.offset, 16u);
  EXPECT_EQ(pieces.add(5, false).offset, 16 + large + 16);
  EXPECT_EQ(pieces.bytes(), 10 + 3 + large + large + 1 + 5);
}

TEST(Staging, PartsOfLargeOpsAreNotPackedTogether) {
  constexpr uint64_t most = 1000; // of a piece
  MessagePieces pieces(kPieceAlignment, most);
  EXPECT_TRUE(pieces.add(most / 2, false).isNew);
  EXPECT_TRUE(pieces.add(most / 2, false).isNew);
  EXPECT_TRUE(pieces.add(most / 2 - 1, false).isNew);
  EXPECT_FALSE(pieces.add(1, false).isNew);
  const etc::Box around{{0, 10}, {0, 100}}, half{{0, 5}, {0, 100}},
      less{{0, 4}, {0, 100}}, strided{{0, 10}, {0, 99}};
  EXPECT_TRUE(isDirect(around, half, 1, most));
  EXPECT_FALSE(isDirect(around, less, 1, most));
  EXPECT_FALSE(isDirect(around, strided, 1, most));
}

TEST(Staging, WhatIsSentByThePieceTakesTurnsInOnePlace) {
  constexpr uint64_t most = 1000; // of a piece
  MessagePieces pieces(kPieceAlignment, most);
  EXPECT_EQ(pieces.add(700, false).offset, 0u);
  EXPECT_EQ(pieces.add(900, false).offset, 0u);
  // Small ones that share a piece stand behind each other.
  EXPECT_EQ(pieces.add(10, false).offset, 0u);
  EXPECT_EQ(pieces.add(20, false).offset, 10u);
  EXPECT_EQ(pieces.add(800, false).offset, 0u);
  EXPECT_EQ(pieces.stagedBytes(), 900u);
  EXPECT_EQ(pieces.bytes(), 700 + 900 + 10 + 20 + 800u);
}

TEST(Staging, WhatIsReceivedThroughTheCacheIsAllStaged) {
  constexpr uint64_t most = 256; // of a piece
  Opened open(ring(/*rows=*/1000, /*slabs=*/1));
  const Staging direct(open.index, 0, most);
  const Staging staged(open.index, 0, most, /*receivesAll=*/true);
  auto bytesOf = [](const Staging::Lay &lay) { return lay.end - lay.begin; };
  EXPECT_EQ(bytesOf(direct.round(0).recv), 0u);
  EXPECT_GT(bytesOf(staged.round(0).recv), 0u);
  EXPECT_LE(bytesOf(staged.round(0).recv), most); // pieces take turns
  EXPECT_EQ(bytesOf(staged.round(0).send), 0u);
}

TEST(Staging, RoundsTakeTurnsAtTheEndsOfASlab) {
  Opened roomy(ring(/*rows=*/100, /*slabs=*/2));
  const Staging staging(roomy.index, 0, 0);
  EXPECT_EQ(staging.round(0).send.begin, 0u);
  EXPECT_EQ(staging.round(0).send.end, 400u);
  EXPECT_EQ(staging.round(1).send.begin, 256u); // 400, for alignment
  EXPECT_TRUE(staging.round(0).send.meets(staging.round(1).send));
  Opened roomier(ring(/*rows=*/128, /*slabs=*/2));
  const Staging apart(roomier.index, 0, 0);
  EXPECT_EQ(apart.round(1).send.begin, 512u);
  EXPECT_EQ(apart.round(1).send.messages[0], 512u);
  EXPECT_FALSE(apart.round(0).send.meets(apart.round(1).send));
}

TEST(Staging, NothingLiesBehindTheEndOfASlab) {
  // Odd sizes that fill a slab leave no room for gaps.
  fb::PlanT plan = relayPlan();
  Opened open(std::move(plan));
  for (uint32_t program = 0; program != open.index.programCount(); ++program) {
    const Staging staging(open.index, program, 0);
    const auto &stated = open.index.program(program);
    for (uint32_t r = 0; r != stated.rounds()->size(); ++r) {
      EXPECT_LE(staging.round(r).send.end, stated.send_slab());
      EXPECT_LE(staging.round(r).recv.end, stated.recv_slab());
    }
  }
}

TEST(Overlap, NeedsRoomInTheSlabs) {
  Opened tight(ring(/*rows=*/128, /*slabs=*/1));
  Opened roomy(ring(/*rows=*/128, /*slabs=*/2));
  EXPECT_FALSE(overlapOf(tight.index, Mode::Safe).mayBeginEarly(1));
  EXPECT_TRUE(overlapOf(roomy.index, Mode::Safe).mayBeginEarly(1));
  EXPECT_FALSE(overlapOf(roomy.index, Mode::Safe).mayBeginEarly(0));
}

TEST(Overlap, NeedsNoSlabForWhatGoesDirectly) {
  Opened open(ring(/*rows=*/100'000, /*slabs=*/1));
  EXPECT_TRUE(overlapOf(open.index, Mode::Safe).mayBeginEarly(1));
}

TEST(Overlap, StaysWithinTheProvedPeak) {
  // In eager mode each round's release makes room for the next one.
  Opened tight(ring(/*rows=*/128, /*slabs=*/2));
  Opened roomy(ring(/*rows=*/128, /*slabs=*/2, /*more=*/512));
  EXPECT_FALSE(overlapOf(tight.index, Mode::Eager).mayBeginEarly(1));
  EXPECT_TRUE(overlapOf(roomy.index, Mode::Eager).mayBeginEarly(1));
}

/// Allocating may wait for the device, and a peer that is gone keeps it.
TEST(Overlap, AllocatesNothingUnderTransfersThatItWouldWaitFor) {
  Opened open(ring(/*rows=*/128, /*slabs=*/2));
  const Staging staging(open.index, 0, 0);
  const RoundOverlap overlap(open.index, 0, Mode::Safe, staging,
                             /*mayAllocate=*/false);
  EXPECT_FALSE(overlap.mayBeginEarly(1));
}

TEST(Overlap, KnowsWhatARoundReadsOfTheLastOne) {
  Opened relay(relayPlan());
  bool reads = false;
  for (uint32_t program = 0; program != relay.index.programCount(); ++program) {
    const RoundOverlap overlap(relay.index, program, Mode::Safe,
                               Staging(relay.index, program, 0));
    for (uint32_t r = 0; r != relay.index.program(program).rounds()->size();
         ++r)
      reads = reads || overlap.readsLast(r);
  }
  EXPECT_TRUE(reads);
  Opened open(ring(/*rows=*/128, /*slabs=*/2));
  EXPECT_FALSE(overlapOf(open.index, Mode::Safe).readsLast(1));
}

} // namespace
