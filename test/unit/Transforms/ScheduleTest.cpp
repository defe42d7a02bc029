//===- ScheduleTest.cpp - Units into rounds under a memory bound ----------===//

#include "Schedule.h"

#include <gtest/gtest.h>

using namespace etc;

/// Bytes that leave one class of devices for another.
static Unit transfer(unsigned from, unsigned to, int64_t bytes,
                     int before = -1) {
  return {{{from, 0, bytes, bytes, 0}, {to, bytes, 0, 0, bytes}}, before};
}

/// Every device gives its state to the next one of a ring and takes as much
/// from the one before: `tensors` tensors of 10 bytes each. Item order is the
/// worst: all tensors of device 0 first.
static llvm::SmallVector<Unit> ring(unsigned devices, int tensors) {
  llvm::SmallVector<Unit> units;
  for (unsigned from = 0; from < devices; ++from)
    for (int tensor = 0; tensor < tensors; ++tensor)
      units.push_back(transfer(from, (from + 1) % devices, 10));
  return units;
}

static llvm::SmallVector<ClassMemory> full(unsigned devices, int64_t state,
                                           int64_t limit, int64_t slab) {
  return llvm::SmallVector<ClassMemory>(devices,
                                        {state, state, limit, slab, slab});
}

// State of 80 bytes, 10 a unit: a tensor comes in as one leaves, so 80 + 10
// live and 10 + 10 staged are enough.
TEST(Schedule, FullRingMovesInProportion) {
  Schedule schedule = scheduleUnits(ring(4, 8), full(4, 80, 110, 10));
  EXPECT_EQ(schedule.rounds, 8);
  EXPECT_EQ(schedule.forced, 0);
  for (int64_t peak : schedule.peak)
    EXPECT_EQ(peak, 110);
}

// 89 bytes are less than state and one unit, so nothing fits: units go alone,
// and the peaks say by how much they exceed the limit.
TEST(Schedule, ForcesOneUnitWhereNothingFits) {
  Schedule schedule = scheduleUnits(ring(4, 8), full(4, 80, 89, 10));
  EXPECT_EQ(schedule.forced, schedule.rounds);
  for (int64_t peak : schedule.peak)
    EXPECT_GT(peak, 89);
}

// Three chunks of one tensor of 30 bytes and a slab that holds two: two rounds,
// in order. The destination takes the memory with the first, the source frees
// it with the last.
TEST(Schedule, ChainsKeepTheirOrder) {
  llvm::SmallVector<Unit> units = {
      {{{0, 0, 0, 10, 0}, {1, 30, 0, 0, 10}}, -1},
      {{{0, 0, 0, 10, 0}, {1, 0, 0, 0, 10}}, 0},
      {{{0, 0, 30, 10, 0}, {1, 0, 0, 0, 10}}, 1},
  };
  llvm::SmallVector<ClassMemory> classes = {{30, 0, 50, 20, 0},
                                            {0, 30, 50, 0, 20}};
  Schedule schedule = scheduleUnits(units, classes);
  EXPECT_EQ(schedule.roundOf, (llvm::SmallVector<int>{0, 0, 1}));
  EXPECT_EQ(schedule.forced, 0);
  EXPECT_EQ(schedule.sendSlab, (llvm::SmallVector<int64_t>{20, 0}));
  EXPECT_EQ(schedule.recvSlab, (llvm::SmallVector<int64_t>{0, 20}));
  EXPECT_EQ(schedule.peak, (llvm::SmallVector<int64_t>{50, 50}));
}

// Memory that a round frees can be taken in the next one, not in the same.
TEST(Schedule, ReleasesComeAfterTransfers) {
  llvm::SmallVector<Unit> units = {{{{0, 10, 10, 0, 0}}, -1},
                                   {{{0, 10, 10, 0, 0}}, -1}};
  Schedule schedule = scheduleUnits(units, {{20, 20, 30, 0, 0}});
  EXPECT_EQ(schedule.roundOf, (llvm::SmallVector<int>{0, 1}));
  EXPECT_EQ(schedule.peak.front(), 30);
}

// What needs no memory and no staging is not spread over rounds.
TEST(Schedule, TakesAllThatFitsInOneRound) {
  Schedule schedule = scheduleUnits(ring(4, 8), full(4, 80, 1000, 80));
  EXPECT_EQ(schedule.rounds, 1);
  for (int64_t slab : schedule.sendSlab)
    EXPECT_EQ(slab, 80);
}

TEST(Schedule, NothingTakesNoRound) {
  Schedule schedule = scheduleUnits({}, {{10, 10, 10, 0, 0}});
  EXPECT_EQ(schedule.rounds, 0);
  EXPECT_EQ(schedule.peak.front(), 10);
}
