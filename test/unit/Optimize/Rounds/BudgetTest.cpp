// Budgets, what they leave for staging, and the search for a schedule.

#include "etc/Optimize/Rounds/Budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace etc::rounds {
namespace {

constexpr int64_t kMega = 1'000'000;

Budget ratio(int64_t ppm) { return {true, ppm}; }

TEST(BudgetTest, IsWrittenAsInARequest) {
  EXPECT_EQ(ratio(1'050'000).str(), "1.05x");
  EXPECT_EQ(ratio(2'000'000).str(), "2x");
  EXPECT_EQ(ratio(10'000'001).str(), "10.000001x");
  EXPECT_EQ((Budget{false, 4096}).str(), "4096 bytes");
}

// 5% of 100 MB are 5 MB. Three quarters of the bytes go out, so three quarters
// of the staging do; a direction that has one byte still gets an eighth, and
// one that has none gets nothing.
TEST(BudgetTest, StagingIsSharedByTraffic) {
  const std::vector<ClassTotals> totals = {
      {100 * kMega, 80 * kMega, 30 * kMega, 10 * kMega},
      {80 * kMega, 100 * kMega, 1, 10 * kMega},
      {100 * kMega, 100 * kMega, 0, 10 * kMega}};
  const std::vector<ClassMemory> all = shareMemory(ratio(1'050'000), totals, 8);
  EXPECT_EQ(all[0], (ClassMemory{100 * kMega, 80 * kMega, 105 * kMega,
                                 3'750'000, 1'250'000}));
  EXPECT_EQ(all[1].sendSlab, 625'000);
  EXPECT_EQ(all[1].recvSlab, 4'375'000);
  EXPECT_EQ(all[2].sendSlab, 0);
  EXPECT_EQ(all[2].recvSlab, 5 * kMega);
  EXPECT_EQ(shareMemory(ratio(1'050'000), totals, 4)[2].recvSlab, 2'500'000);
}

// Not below 1/512 of the state, nor 4 kB.
TEST(BudgetTest, StagingHasALeastSize) {
  const std::vector<ClassTotals> totals = {{512 * kMega, 0, 1, 0},
                                           {1000, 0, 1, 0}};
  for (const Budget &tight : {ratio(1'000'000), Budget{false, 1}}) {
    const std::vector<ClassMemory> classes = shareMemory(tight, totals, 8);
    EXPECT_EQ(classes[0].sendSlab, kMega);
    EXPECT_EQ(classes[1].sendSlab, 4096);
  }
}

// Whatever the budget and the shares of staging are.
TEST(BudgetTest, NoSlabIsWiderThanTheWidest) {
  const std::vector<ClassTotals> totals = {{512 * kMega, 0, 100 * kMega, 7},
                                           {1000, 500 * kMega, 0, 40 * kMega},
                                           {0, 1000, 90 * kMega, 20'000}};
  for (const int64_t ppm : {1'000'000, 1'050'000, 3'000'000, 900'000'000})
    for (const int64_t eighths : {2, 8})
      for (const int64_t portions : {2, 33}) {
        const std::vector<ClassMemory> all =
            shareMemory(ratio(ppm), totals, eighths, portions);
        for (size_t i = 0; i < totals.size(); ++i) {
          const int64_t state = std::max(totals[i].prev, totals[i].curr);
          EXPECT_LE(all[i].sendSlab,
                    findWidestSlab(totals[i].sent, state, portions));
          EXPECT_LE(all[i].recvSlab,
                    findWidestSlab(totals[i].received, state, portions));
        }
      }
  // 33 portions of 100 MB; all of 7 bytes, as 1/512 of the state is more.
  EXPECT_EQ(findWidestSlab(100 * kMega, 512 * kMega, 33), 3'030'304);
  EXPECT_EQ(findWidestSlab(7, 512 * kMega, 33), kMega);
  EXPECT_EQ(findWidestSlab(0, 512 * kMega, 33), 0);
}

TEST(BudgetTest, StagingIsAPortionOfTheTraffic) {
  // A class that receives a gigabyte, with half of one to spare.
  const std::vector<ClassTotals> totals = {
      {0, 1'000'000'000, 0, 1'000'000'000, false}};
  const Budget budget = {true, 1500000};
  EXPECT_EQ(shareMemory(budget, totals, 8)[0].recvSlab, 500'000'000);
  EXPECT_EQ(shareMemory(budget, totals, 8, 100)[0].recvSlab, 10'000'000);
  // More memory does not make it more.
  EXPECT_EQ(shareMemory({true, 3000000}, totals, 8, 100)[0].recvSlab,
            10'000'000);
}

TEST(BudgetTest, PipelinesHaveThePortionsOfLeastTime) {
  // A second of bytes over 4 hops, rounds of a millisecond: sqrt(4 / 0.001).
  EXPECT_EQ(countPortions(1000, 1000, 1'000'000, 4), 63);
  // At most 40 for each hop; and one where rounds cost more than they save.
  EXPECT_EQ(countPortions(1000, 1000, 1'000, 4), 160);
  EXPECT_EQ(countPortions(1000, 1'000'000, 1'000'000'000, 4), 1);
  EXPECT_EQ(countPortions(0, 1, 1, 0), 1);
}

TEST(BudgetTest, ChunksAreHalfASlab) {
  EXPECT_EQ(countChunks(0, 0, 2), 1);
  EXPECT_EQ(countChunks(50, 100, 2), 1);
  EXPECT_EQ(countChunks(51, 100, 2), 2);
  EXPECT_EQ(countChunks(1000, 100, 2), 20);
  EXPECT_EQ(countChunks(1000, 100, 4), 40);
}

// 90 bytes through 20 are four and a half rounds, more than 100 through 50.
TEST(BudgetTest, ARoundHasItsShare) {
  const std::vector<ClassTotals> totals = {{0, 0, 90, 100}, {0, 0, 0, 10}};
  const std::vector<ClassMemory> memory = {{0, 0, 0, 20, 50}, {0, 0, 0, 0, 10}};
  EXPECT_EQ(shareOfRound(900, totals, memory), 200);
  const std::vector<ClassMemory> ample = {{0, 0, 0, 90, 100}, {0, 0, 0, 0, 10}};
  EXPECT_EQ(shareOfRound(900, totals, ample), 900);
}

TEST(BudgetTest, WhatAScheduleKeeps) {
  const std::vector<ClassTotals> totals = {{100, 80}, {0, 0}, {1000, 2000}};
  Solution solution;
  solution.peak = {101, 50, 2600};
  EXPECT_EQ(keptBy(solution, totals, ratio(1)).str(), "1.3x");
  EXPECT_EQ(keptBy(solution, totals, {false, 1}).str(), "2600 bytes");
  solution.peak = {100, 50, 2001};
  EXPECT_EQ(keptBy(solution, totals, ratio(1)).str(), "1.001x");
}

/// Devices in a ring, each of which gives `tensors` tensors to the next one and
/// takes as many. Tensors are cut for the slabs that there are.
struct Ring {
  int32_t devices;
  int64_t tensors, bytes;

  std::vector<ClassTotals> totals() const {
    const int64_t state = tensors * bytes;
    return std::vector<ClassTotals>(size_t(devices),
                                    {state, state, state, state, true});
  }
  Problem pose(std::vector<ClassMemory> classes) const;
};

Problem Ring::pose(std::vector<ClassMemory> classes) const {
  Problem problem{std::move(classes), {}};
  const int64_t chunks = countChunks(bytes, problem.classes[0].sendSlab, 2);
  for (int32_t from = 0; from < devices; ++from)
    for (int64_t chunk = 0; chunk < tensors * chunks; ++chunk) {
      const int64_t number = chunk % chunks;
      const bool isFirst = number == 0, isLast = number == chunks - 1;
      const int64_t part =
          bytes * (number + 1) / chunks - bytes * number / chunks;
      Unit unit;
      unit.touches = {{from, 0, isLast ? bytes : 0, part, 0},
                      {(from + 1) % devices, isFirst ? bytes : 0, 0, 0, part}};
      if (unit.touches[0].deviceClass > unit.touches[1].deviceClass)
        std::swap(unit.touches[0], unit.touches[1]);
      if (!isFirst)
        unit.before = int32_t(problem.units.size()) - 1;
      problem.units.push_back(unit);
    }
  return problem;
}

Found find(const Budget &budget, const Ring &ring,
           decltype(findWithin) &search = findWithin) {
  Found found = search(
      budget, ring.totals(),
      [&](std::vector<ClassMemory> classes) {
        return ring.pose(std::move(classes));
      },
      /*portions=*/1);
  EXPECT_EQ(verify(ring.pose(found.memory), found.solution), std::nullopt);
  return found;
}

// 40 MB of state; a budget of 10% leaves 4 MB. With 7/8 of them as staging for
// two directions half a megabyte is left, which is enough for tensors of 100 kB
// to come in before others leave, but not for one of 1 MB.
TEST(FindWithin, TakesTheWidestStagingThatFits) {
  for (auto [tensors, bytes, slab] : {std::tuple(400, 100'000, 1'750'000),
                                      std::tuple(40, 1'000'000, 1'500'000)}) {
    const Found found = find(ratio(1'100'000), {4, tensors, bytes});
    EXPECT_TRUE(found.isWithin);
    EXPECT_EQ(found.solution.forced, 0);
    EXPECT_EQ(found.memory[0].sendSlab, slab);
  }
}

// A tensor is as large as what the budget leaves: it has to be there twice.
TEST(FindWithin, SaysTheLeastThatItFound) {
  const Ring ring{3, 4, kMega};
  const Budget tight = ratio(1'100'000);
  const Found found = find(tight, ring);
  EXPECT_FALSE(found.isWithin);
  const Budget kept = keptBy(found.solution, ring.totals(), tight);
  EXPECT_GE(kept.amount, 1'250'000);
}

// Two devices with two tensors each, of which one has to be there twice: where
// half of the state is to spare, what was made for less fits.
TEST(FindStaging, TriesNoOtherBudget) {
  const Ring ring{2, 2, kMega};
  const Budget budget = ratio(1'550'000);
  EXPECT_TRUE(find(budget, ring).isWithin);
  EXPECT_FALSE(find(budget, ring, findStaging).isWithin);
  const Budget ample = ratio(2'000'000);
  EXPECT_EQ(find(ample, ring, findStaging).solution,
            find(ample, ring).solution);
}

// A budget that a message names is met when it is asked for, and so is any that
// is looser.
TEST(FindWithin, WhatIsNamedIsMet) {
  for (int64_t tensors : {1, 3, 8})
    for (int32_t devices : {2, 5})
      for (const Budget &tight : {ratio(1'001'000), Budget{false, kMega}}) {
        SCOPED_TRACE(std::to_string(tensors) + " tensors, " +
                     std::to_string(devices) + " devices, " + tight.str());
        const Ring ring{devices, tensors, kMega};
        Budget kept = keptBy(find(tight, ring).solution, ring.totals(), tight);
        EXPECT_TRUE(find(kept, ring).isWithin);
        kept.amount += kept.amount / 10;
        EXPECT_TRUE(find(kept, ring).isWithin);
      }
}

} // namespace
} // namespace etc::rounds
