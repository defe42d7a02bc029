// Cuts: valid ones, one wrong one for each constraint, and their sentences.

#include "Cases.h"
#include "etc/Optimize/Routing/Solver.h"

#include <gtest/gtest.h>

namespace etc::routing {
namespace {

using testing::readCase;

/// Data parallelism grows from one device to three nodes.
Problem growth() {
  return readCase("nodes 3 devices 8 nics 8 link 450G nic 50G\n"
                  "atom 96.36G: 0 -> 1-23\n")
      .problem;
}

const Cut kIntoNode{Direction::In,
                    {8, 9, 10, 11, 12, 13, 14, 15},
                    {96'360'000'000, 400'000'000'000}};

std::string errorOf(const Problem &problem, const Cut &cut) {
  return verifyBound(problem, cut).value_or("valid");
}

TEST(BoundTest, IntoANode) {
  const Problem problem = growth();
  EXPECT_EQ(errorOf(problem, kIntoNode), "valid");
  EXPECT_EQ(findBound(problem).time, kIntoNode.time);
  EXPECT_EQ(describe(problem, kIntoNode),
            "node 1 lacks 96.36 GB and has 8 x 50 GB/s: nothing is below "
            "240.9 ms");
}

TEST(BoundTest, OutOfNodes) {
  const Problem problem = readCase("nodes 4 devices 2 nics 2 link 900 nic 100\n"
                                   "atom 5000: 0 2 -> 4\n"
                                   "atom 3000: 2 -> 6\n"
                                   "atom 100: 0 -> 1\n")
                              .problem;
  const Cut cut = findBound(problem);
  EXPECT_EQ(cut.direction, Direction::In);
  const Cut out{Direction::Out, {0, 1, 2, 3}, {8000, 400}};
  EXPECT_EQ(errorOf(problem, out), "valid");
  EXPECT_EQ(describe(problem, out),
            "nodes 0, 1 alone hold 8 kB that others need, and have 4 x 100 "
            "B/s: nothing is below 20 s");
}

TEST(BoundTest, OutOfHolders) {
  const Problem problem = readCase("nodes 2 devices 4 nics 4 link 150 nic 100\n"
                                   "atom 1000: 0 1 -> 2 4\n"
                                   "atom 1000: 1 -> 3\n")
                              .problem;
  const Cut out{Direction::Out, {0, 1}, {2000, 500}};
  EXPECT_EQ(errorOf(problem, out), "valid");
  EXPECT_EQ(describe(problem, out),
            "devices 0, 1 alone hold 2 kB that others need, and have 2 x 150 "
            "B/s + 2 x 100 B/s: nothing is below 4 s");
}

TEST(BoundTest, OnlyParticipantsCount) {
  const Problem problem = readCase("nodes 2 devices 4 nics 4 link 900 nic 100\n"
                                   "spare 6 7\n"
                                   "atom 1000: 0 -> 4 5\n")
                              .problem;
  const Cut cut = findBound(problem);
  EXPECT_EQ(cut.devices, (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(cut.time, (Time{1000, 200}));
}

/// Two devices that lack the same, of which all comes from one NIC: the NIC
/// carries it once, and the two links the rest.
TEST(BoundTest, NicsOfTheOthers) {
  const Problem problem = readCase("nodes 1 devices 1 nics 1 link 400 nic 100\n"
                                   "nodes 1 devices 2 nics 2 link 400 nic 100\n"
                                   "atom 4500: 0 -> 1 2\n"
                                   "atom 27000: 1 -> 2\n"
                                   "atom 27000: 2 -> 1\n")
                              .problem;
  const Cut cut = findBound(problem);
  EXPECT_EQ(errorOf(problem, cut), "valid");
  EXPECT_EQ(describe(problem, cut),
            "node 1 lacks 63 kB, counted separately, and has 2 x 400 B/s, and "
            "the others 1 x 100 B/s: nothing is below 70 s");
  Cut own = cut;
  own.time.rate = 1000; // with their own two NICs, which is as true
  EXPECT_EQ(errorOf(problem, own), "valid");
  own.time.rate = 899;
  EXPECT_EQ(errorOf(problem, own),
            "time.rate: they cross at 900 bytes a second, got 899");
}

/// What leaves a node does not leave it faster than the others receive.
TEST(BoundTest, NicsOfTheOthersReceive) {
  const Problem problem = readCase("nodes 1 devices 2 nics 2 link 400 nic 100\n"
                                   "nodes 1 devices 1 nics 1 link 400 nic 100\n"
                                   "atom 20000: 0 -> 1\n"
                                   "atom 10000: 0 -> 1 2\n")
                              .problem;
  const Cut out{Direction::Out, {0, 1}, {10000, 100}};
  EXPECT_EQ(errorOf(problem, out), "valid");
  EXPECT_EQ(describe(problem, out),
            "node 0 alone holds 10 kB that others need, and the others have 1 "
            "x 100 B/s: nothing is below 100 s");
}

TEST(BoundTest, SharedNicsCountOnce) {
  const Problem problem = readCase("nodes 2 devices 4 nics 2 link 900 nic 100\n"
                                   "atom 1000: 0 -> 4\n")
                              .problem;
  EXPECT_EQ(findBound(problem).time, (Time{1000, 200}));
}

TEST(BoundTest, OneNodeHasNoNics) {
  const Problem problem =
      readCase(
          "nodes 1 devices 4 nics 4 link 900 nic 100\natom 900: 0 -> 1-3\n")
          .problem;
  const Cut cut = findBound(problem);
  EXPECT_EQ(cut.time, (Time{1, 1}));
  EXPECT_EQ(describe(problem, cut),
            "device 1 lacks 900 B and has 900 B/s: nothing is below 1 s");
}

/// Two devices share a NIC, and each needs its own 1000 bytes, or the same.
TEST(BoundTest, InnerDevicesCountSeparately) {
  for (const char *atoms :
       {"atom 1000: 0 -> 4\natom 1000: 0 -> 5\n", "atom 1000: 0 -> 4 5\n"}) {
    const Problem problem = readCase("nodes 2 devices 4 nics 2 link 300 nic "
                                     "100\n" +
                                     std::string(atoms))
                                .problem;
    const Cut cut{Direction::In, {4, 5}, {2000, 700}, {4, 5}};
    EXPECT_EQ(errorOf(problem, cut), "valid");
    EXPECT_EQ(describe(problem, cut),
              "devices 4, 5 lack 2 kB, counted separately, and have 2 x 300 "
              "B/s + 1 x 100 B/s: nothing is below 2.857 s");
  }
}

TEST(BoundTest, InnerDevicesAreFound) {
  const Cut shared = findBound(readCase("nodes 2 devices 4 nics 2 link 300 nic "
                                        "100\natom 1000: 0 6 -> 4 5\n")
                                   .problem);
  EXPECT_EQ(shared.inner, (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(shared.time, (Time{2000, 700}));
}

/// What node 1 lacks arrives at device 3; device 2 lacks what device 3 has.
const char *const kWithinTheNode = "nodes 2 devices 2 nics 2 link 20M nic 4M\n"
                                   "atom 169k: 0 -> 3\natom 514k: 0 1 3 -> 2\n";

TEST(BoundTest, WhatTheNodeLacksAndOneDeviceOfIt) {
  const Problem problem = readCase(kWithinTheNode).problem;
  EXPECT_EQ(findBound(problem).time, (Time{683'000, 28'000'000}));
  const Cut cut{Direction::In, {2, 3}, {683'000, 28'000'000}, {2}};
  EXPECT_EQ(errorOf(problem, cut), "valid");
  EXPECT_EQ(describe(problem, cut),
            "node 1 lacks 683 kB, counting device 2 separately, and has 1 x 20 "
            "MB/s + 2 x 4 MB/s: nothing is below 24.39 ms");
}

/// 800 bytes leave the node, 670 only devices 0 and 1, and 500 both: once.
TEST(BoundTest, OutOfInnerDevices) {
  const Problem problem = readCase("nodes 2 devices 4 nics 4 link 150 nic 100\n"
                                   "atom 500: 0 1 -> 2 4\n"
                                   "atom 600: 0 -> 3\n"
                                   "atom 300: 2 -> 5\n"
                                   "atom 70: 0 -> 1\n")
                              .problem;
  const Cut out{Direction::Out, {0, 1, 2, 3}, {1470, 700}, {0, 1}};
  EXPECT_EQ(errorOf(problem, out), "valid");
  EXPECT_EQ(describe(problem, out),
            "node 0 alone holds 1.47 kB that others need, counting devices 0, "
            "1 separately, and has 2 x 150 B/s + 4 x 100 B/s: nothing is below "
            "2.1 s");
}

/// Nodes 0 and 1 hold all, and exchange some: it leaves one of them as well.
TEST(BoundTest, OutOfEachNode) {
  const Problem problem = readCase("nodes 3 devices 1 nics 1 link 900 nic 100\n"
                                   "atom 700: 0 -> 1\n"
                                   "atom 500: 1 -> 0\n"
                                   "atom 400: 0 1 -> 2\n")
                              .problem;
  const Cut cut = findBound(problem);
  EXPECT_EQ(cut.time, (Time{1600, 200}));
  EXPECT_EQ(errorOf(problem, cut), "valid");
  EXPECT_EQ(describe(problem, cut),
            "nodes 0, 1 alone hold 1.6 kB that others need, and have 2 x 100 "
            "B/s: nothing is below 8 s");
}

/// Three devices of a node lack what the fourth holds: its link is slower than
/// theirs together.
TEST(BoundTest, LinksOfTheOthers) {
  const Problem problem = readCase("nodes 1 devices 4 nics 4 link 400 nic 100\n"
                                   "nodes 1 devices 1 nics 1 link 400 nic 100\n"
                                   "atom 3000: 3 4 -> 0\n"
                                   "atom 3000: 3 4 -> 1\n"
                                   "atom 3000: 3 4 -> 2\n")
                              .problem;
  const Cut cut = findBound(problem);
  EXPECT_EQ(cut.time, (Time{9000, 500}));
  EXPECT_EQ(errorOf(problem, cut), "valid");
  EXPECT_EQ(describe(problem, cut), "devices 0, 1, 2 lack 9 kB and the others "
                                    "have 1 x 400 B/s + 1 x 100 B/s: nothing "
                                    "is below 18 s");
}

TEST(BoundTest, NothingMoves) {
  EXPECT_TRUE(
      findBound(readCase("nodes 1 devices 4 nics 4 link 9 nic 1\n").problem)
          .devices.empty());
}

TEST(BoundTest, C1Devices) {
  Problem problem = growth();
  EXPECT_EQ(errorOf(problem, {}), "devices: lists no device");
  EXPECT_EQ(errorOf(problem, {Direction::In, {24}, {}}),
            "devices[0]: 24 is not in [0, 24)");
  EXPECT_EQ(errorOf(problem, {Direction::In, {9, 8}, {}}),
            "devices[1]: must be strictly ascending, got 8 after 9");
  const Cut twice{Direction::In, {8, 9}, {}, {8, 8}};
  EXPECT_EQ(errorOf(problem, twice),
            "inner[1]: must be strictly ascending, got 8 after 8");
  const Cut beyond{Direction::In, {8, 9}, {}, {10}};
  EXPECT_EQ(errorOf(problem, beyond),
            "inner[0]: device 10 is not one of the devices");
  const Cut none{Direction::In, {8, 9}, {}, {-1}};
  EXPECT_EQ(errorOf(problem, none), "inner[0]: -1 is not in [0, 24)");
  problem.devices[8].status = Status::Spare;
  EXPECT_EQ(errorOf(problem, {Direction::In, {8}, {}}),
            "devices[0]: device 8 takes no part");
}

TEST(BoundTest, C2Bytes) {
  Cut cut = kIntoNode;
  cut.time.bytes += 1;
  EXPECT_EQ(errorOf(growth(), cut),
            "time.bytes: 96360000000 bytes cross, got 96360000001");
  cut = kIntoNode;
  cut.direction = Direction::Out;
  EXPECT_EQ(errorOf(growth(), cut),
            "time.bytes: 0 bytes cross, got 96360000000");
}

TEST(BoundTest, C2BytesOfInnerDevices) {
  const Problem problem = readCase(kWithinTheNode).problem;
  const Cut cut{Direction::In, {2, 3}, {683'000, 28'000'000}, {3}};
  EXPECT_EQ(errorOf(problem, cut),
            "time.bytes: 169000 bytes cross, got 683000");
}

TEST(BoundTest, C3RateOfInnerDevices) {
  const Problem problem = readCase(kWithinTheNode).problem;
  const Cut cut{Direction::In, {2, 3}, {683'000, 8'000'000}, {2}};
  EXPECT_EQ(errorOf(problem, cut),
            "time.rate: they cross at 28000000 bytes a second, got 8000000");
}

TEST(BoundTest, C3Rate) {
  Cut cut = kIntoNode;
  cut.time.rate /= 2;
  EXPECT_EQ(errorOf(growth(), cut),
            "time.rate: they cross at 400000000000 bytes a second, got "
            "200000000000");
  cut = kIntoNode;
  cut.devices.pop_back();
  EXPECT_EQ(errorOf(growth(), cut),
            "time.rate: they cross at 800000000000 bytes a second, got "
            "400000000000");
}

} // namespace
} // namespace etc::routing
