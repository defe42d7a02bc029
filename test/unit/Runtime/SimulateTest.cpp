// Simulated times, with the arithmetic worked out.

#include "LaneFixture.h"

#include "core/plan/Unfold.h"
#include "view/simulate/Memory.h"
#include "view/simulate/Network.h"
#include "view/simulate/PlanTime.h"
#include "view/simulate/Simulator.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <tuple>

using namespace etc::runtime;
using namespace etc::plan::test;
namespace fb = etc::plan::fb;

namespace {

struct OpenPlan {
  explicit OpenPlan(fb::PlanT plan)
      : bytes(etc::plan::packPlan(std::move(plan))),
        index(*fb::GetPlan(bytes.data())) {}
  std::vector<uint8_t> bytes;
  etc::plan::PlanIndex index;
};

TEST(Network, FlowsShareTheTightestPort) {
  // a -> b at 10; c -> b as well: 5 each. d -> e, 100 wide, is not held back.
  Network network;
  uint32_t a = network.addPort(10), b = network.addPort(10);
  uint32_t c = network.addPort(10);
  uint32_t d = network.addPort(100), e = network.addPort(100);
  network.start(0, a, b, 50);
  network.start(1, c, b, 100);
  network.start(2, d, e, 100);
  EXPECT_DOUBLE_EQ(network.nextEnd(0), 1);
  EXPECT_EQ(network.advance(0, 1), std::vector<uint32_t>{2});
  EXPECT_DOUBLE_EQ(network.nextEnd(1), 10);
  EXPECT_EQ(network.advance(1, 10), std::vector<uint32_t>{0});
  // 50 left, now alone.
  EXPECT_DOUBLE_EQ(network.nextEnd(10), 15);
}

TEST(Network, AChangeReachesFlowsThroughOthers) {
  // a -> b and c -> b at 10 each, c -> d at 5: d is the tightest. Once a -> b
  // has ended, c has 15 for b; once c -> d has ended too, b has its 20 of c.
  Network network;
  uint32_t a = network.addPort(100), b = network.addPort(20);
  uint32_t c = network.addPort(20), d = network.addPort(5);
  network.start(0, a, b, 10);
  network.start(1, c, b, 40);
  network.start(2, c, d, 10);
  EXPECT_DOUBLE_EQ(network.nextEnd(0), 1);
  EXPECT_EQ(network.advance(0, 1), std::vector<uint32_t>{0});
  EXPECT_DOUBLE_EQ(network.nextEnd(1), 2);
  EXPECT_EQ(network.advance(1, 2), std::vector<uint32_t>{2});
  // 15 left.
  EXPECT_DOUBLE_EQ(network.nextEnd(2), 2.75);
}

TEST(Network, WhatATightPortLeavesGoesToOthers) {
  // a sends to b (2 wide) and to c: 2 and 8 of its 10.
  Network network;
  uint32_t a = network.addPort(10), b = network.addPort(2);
  uint32_t c = network.addPort(100);
  network.start(0, a, b, 20);
  network.start(1, a, c, 80);
  EXPECT_DOUBLE_EQ(network.nextEnd(0), 10);
  EXPECT_EQ(network.advance(0, 10), (std::vector<uint32_t>{0, 1}));
}

TEST(Network, WhatTheClockCannotTellHasEnded) {
  // At a million seconds a double's steps are longer than a picosecond.
  Network network;
  uint32_t a = network.addPort(1e18), b = network.addPort(1e18);
  network.start(7, a, b, 1e6);
  EXPECT_EQ(network.nextEnd(1e6), 1e6);
  EXPECT_EQ(network.advance(1e6, 1e6), std::vector<uint32_t>{7});
}

TEST(Network, AcknowledgementsTakeOfTheWayBack) {
  // Two lines of 100 a second, a -> b and b -> a; of each byte a tenth goes
  // back. Both directions busy: 90 each. The second flow has ended at 1, and
  // the first has the line alone.
  Network network;
  uint32_t aOut = network.addPort(100), aIn = network.addPort(100);
  uint32_t bOut = network.addPort(100), bIn = network.addPort(100);
  network.pair(aOut, aIn, 0.1);
  network.pair(bOut, bIn, 0.1);
  network.start(0, aOut, bIn, 190);
  network.start(1, bOut, aIn, 90);
  EXPECT_DOUBLE_EQ(network.nextEnd(0), 1);
  EXPECT_EQ(network.advance(0, 1), std::vector<uint32_t>{1});
  EXPECT_DOUBLE_EQ(network.nextEnd(1), 2);
}

TEST(Network, AcknowledgementsHoldNobodyBackBeyondTheirBytes) {
  // a sends to three, and receives from c, which sends to nobody else: c's flow
  // gets what its own line has, and a's sends lose a hundredth of it.
  Network network;
  uint32_t aOut = network.addPort(90), aIn = network.addPort(300);
  uint32_t cOut = network.addPort(300), cIn = network.addPort(300);
  uint32_t others = network.addPort(1000);
  network.pair(aOut, aIn, 0.01);
  network.pair(cOut, cIn, 0.01);
  for (uint32_t flow : {0, 1, 2})
    network.start(flow, aOut, others, 29);
  network.start(3, cOut, aIn, 299.1);
  EXPECT_DOUBLE_EQ(network.nextEnd(0), 1);
  EXPECT_EQ(network.advance(0, 1), (std::vector<uint32_t>{0, 1, 2, 3}));
}

TEST(Simulator, RelaysFollowEachOther) {
  // All on one node: 32 bytes at 16 a second, 1 s of latency, 32 packed a
  // second. Device 0 packs until 1; the message starts at 2 and ends at 4;
  // device 1 has unpacked it at 5 and packed it again at 6; it starts at 7 and
  // ends at 9; device 2 has unpacked it at 10, derives until 10.5; device 1 has
  // its answer at 11.
  OpenPlan plan(relayPlan());
  Cluster cluster{"", 16, 1, 1, 1, 1, 32};
  Forecast forecast = simulate(plan.index, workloadOf(plan.index), cluster);
  EXPECT_DOUBLE_EQ(forecast.seconds, 11);
  EXPECT_DOUBLE_EQ(forecast.busiestPortSeconds, 2);
}

TEST(Simulator, TellsWhenEachRankEndsARound) {
  // The migration above: device 0 has its answer 1 s after device 1 unpacked.
  OpenPlan plan(relayPlan());
  Cluster cluster{"", 16, 1, 1, 1, 1, 32};
  std::map<std::pair<uint32_t, uint32_t>, double> ends;
  simulate(plan.index, workloadOf(plan.index), cluster,
           [&](uint32_t rank, uint32_t round, double seconds) {
             EXPECT_TRUE(ends.insert({{rank, round}, seconds}).second);
           });
  EXPECT_DOUBLE_EQ((ends.at({1, 0})), 5);
  EXPECT_DOUBLE_EQ((ends.at({0, 0})), 6);
  EXPECT_DOUBLE_EQ((ends.at({2, 1})), 10);
  EXPECT_DOUBLE_EQ((ends.at({1, 1})), 11);
}

TEST(Workload, OfALaneIsThatOfAllOnceUnfolded) {
  const auto listed = [](const std::vector<SimulatedMessage> &messages) {
    std::multiset<std::tuple<uint32_t, uint32_t, uint64_t>> out;
    for (const auto &[from, to, bytes] : messages)
      out.emplace(from, to, bytes);
    return out;
  };
  for (fb::PlanT (*make)() : {twoStagePlan, relayPlan, transitPlan}) {
    const OpenPlan lane(ofLane(make()));
    const OpenPlan all(etc::plan::unfoldPlan(lane.index.plan()));
    const Workload ofLanes = workloadOfLanes(lane.index, 3);
    const Workload wanted = workloadOf(all.index);
    ASSERT_EQ(ofLanes.steps.size(), wanted.steps.size());
    for (size_t round = 0; round != wanted.steps.size(); ++round) {
      EXPECT_EQ(listed(ofLanes.messages[round]),
                listed(wanted.messages[round]));
      ASSERT_EQ(ofLanes.steps[round].size(), wanted.steps[round].size());
      for (size_t rank = 0; rank != wanted.steps[round].size(); ++rank) {
        const DeviceStep &step = ofLanes.steps[round][rank],
                         &other = wanted.steps[round][rank];
        EXPECT_EQ(
            std::tie(step.packBytes, step.unpackBytes, step.copyBytes),
            std::tie(other.packBytes, other.unpackBytes, other.copyBytes));
      }
    }
  }
}

TEST(Simulator, DevicesOfANodeShareItsPort) {
  // Two devices a node share one port of 8 bytes a second; 0.5 s of latency; 16
  // bytes packed or copied a second. Round 0: devices 0 and 1 pack 32 bytes
  // until 2, 2 and 3 pack 16 until 1; all messages start at 2.5, at 4 a second
  // each: those of 16 bytes end at 6.5, those of 32 at 10.5. Devices 0 and 1
  // unpack until 7.5, 2 and 3 until 12.5, and begin round 1 there; 0 and 1 have
  // their answers at 13. Round 1: devices 2 and 3 pack 32 bytes until 14.5,
  // start at 15, end at 23; 0 and 1 unpack until 25; the answers come at 25.5.
  OpenPlan plan(twoStagePlan());
  Cluster cluster{"", 1000, 0, 1, 8, 0.5, 16};
  Forecast forecast = simulate(plan.index, workloadOf(plan.index), cluster);
  EXPECT_DOUBLE_EQ(forecast.seconds, 25.5);
  // Out of the second node, and into the first: 2 x (16 + 32) bytes.
  EXPECT_DOUBLE_EQ(forecast.busiestPortSeconds, 12);
  LinkBytes bytes = countLinkBytes(plan.index, workloadOf(plan.index));
  EXPECT_EQ(bytes.insideNodes, 0u);
  EXPECT_EQ(bytes.betweenNodes, 160u);
}

TEST(Simulator, TheTailWaitsForAllDevices) {
  // As above, but round 1 is deferred: devices 2 and 3 begin it when 0 and 1
  // have their answers, half a second later.
  fb::PlanT made = twoStagePlan();
  made.deferred_rounds = 1;
  OpenPlan plan(std::move(made));
  Cluster cluster{"", 1000, 0, 1, 8, 0.5, 16};
  std::map<uint32_t, double> pauseEnds;
  const Forecast forecast =
      simulate(plan.index, workloadOf(plan.index), cluster,
               [&](uint32_t rank, uint32_t round, double seconds) {
                 if (round == 0)
                   pauseEnds[rank] = seconds;
               });
  EXPECT_DOUBLE_EQ(pauseEnds.at(2), 12.5);
  EXPECT_DOUBLE_EQ(pauseEnds.at(0), 13);
  EXPECT_DOUBLE_EQ(forecast.seconds, 26);
}

TEST(PlanTime, TheTailWaitsForAllDevicesInTheEstimateToo) {
  // Without latency: round 0 keeps a port busy for 12 s between two devices,
  // round 1 for 4 s between others, which would not have to wait.
  fb::PlanT made = twoStagePlan();
  made.deferred_rounds = 1;
  OpenPlan plan(std::move(made));
  const Workload work{
      std::vector(2, std::vector<DeviceStep>(plan.index.rankCount())),
      {{{0, 1, 192}}, {{2, 3, 64}}}};
  Cluster cluster{"", 16, 0, 1, 1, 0, 32};
  const RoundEnds ends = predictRounds(plan.index, work, cluster, 0);
  EXPECT_FALSE(ends.isSimulated);
  EXPECT_DOUBLE_EQ(ends.seconds[2][0], 0);
  EXPECT_DOUBLE_EQ(ends.seconds[2][1], 16);
}

TEST(PlanTime, TheEstimateCountsWhatDevicesPackAndCopy) {
  // Device 0 packs for 2 s, sends for 12 s after a latency of 1/2, and waits
  // for the answer of device 1, which unpacks for 3 s. Device 2 copies for 20
  // s.
  OpenPlan plan(twoStagePlan());
  Workload work{{std::vector<DeviceStep>(plan.index.rankCount())},
                {{{0, 1, 192}}}};
  work.steps[0][0].packBytes = 64;
  work.steps[0][1].unpackBytes = 96;
  work.steps[0][2].copyBytes = 640;
  Cluster cluster{"", 16, 0.5, 1, 1, 0, 32};
  const RoundEnds ends = predictRounds(plan.index, work, cluster, 0);
  EXPECT_DOUBLE_EQ(ends.seconds[0][0], 18);
  EXPECT_DOUBLE_EQ(ends.seconds[1][0], 17.5);
  EXPECT_DOUBLE_EQ(ends.seconds[2][0], 20);
  EXPECT_DOUBLE_EQ(simulate(plan.index, work, cluster).seconds, 20);
}

TEST(Simulator, PortsOfTheirOwnAreTwiceAsFast) {
  // As above, but a port a device: round 0 ends 4 s earlier (its 32 bytes take
  // 4 s), round 1 another 4.
  OpenPlan plan(twoStagePlan());
  Cluster cluster{"", 1000, 0, 2, 8, 0.5, 16};
  EXPECT_DOUBLE_EQ(
      simulate(plan.index, workloadOf(plan.index), cluster).seconds, 17.5);
}

TEST(Memory, PeaksAreThoseOfThePlan) {
  for (fb::PlanT made : {twoStagePlan(), relayPlan()}) {
    OpenPlan plan(std::move(made));
    for (uint32_t p = 0; p != plan.index.programCount(); ++p) {
      uint64_t peak = 0;
      for (RoundMemory round : memoryOf(plan.index, p)) {
        EXPECT_LE(round.after, round.during);
        peak = std::max(peak, round.during);
      }
      EXPECT_EQ(peak, plan.index.program(p).peak());
    }
  }
}

class ClusterFile : public testing::Test {
protected:
  std::string read(const std::string &content) {
    std::ofstream(path) << content;
    return readCluster(path).status().message();
  }
  std::string path = testing::TempDir() + "etc-cluster.json";
};

TEST_F(ClusterFile, IsNamedByItsFileIfItSaysNoName) {
  // Not by a path: plans are the same wherever they are made.
  EXPECT_EQ(read(R"({"link": {"bytes_per_second": 1, "latency_seconds": 0},
                     "port": {"bytes_per_second": 1, "latency_seconds": 0,
                              "per_node": 1},
                     "pack": {"bytes_per_second": 1}})"),
            "");
  EXPECT_EQ(readCluster(path)->name, "etc-cluster");
}

TEST_F(ClusterFile, NamesWhatIsWrong) {
  const std::string link =
      R"({"link": {"bytes_per_second": 1, "latency_seconds": 0}, )";
  EXPECT_EQ(read("[]"), path + ": expected a JSON object");
  EXPECT_EQ(read("{}"),
            path + ": link/bytes_per_second: expected a number above 0");
  EXPECT_EQ(read(link + R"("port": {"bytes_per_second": 0}})"),
            path + ": port/bytes_per_second: expected a number above 0");
  EXPECT_EQ(read(link + R"("port": {"bytes_per_second": 1, "latency_seconds": 0,
                 "per_node": 0}, "pack": {"bytes_per_second": 1}})"),
            path + ": port/per_node: expected an integer from 1");
  EXPECT_EQ(read(link + R"("port": {"bytes_per_second": 1, "latency_seconds": 0,
                 "per_node": 1, "acknowledgement_share": 1},
                 "pack": {"bytes_per_second": 1}})"),
            path + ": port/acknowledgement_share: expected a number from 0 and "
                   "below 1");
  EXPECT_EQ(read(link + R"("acknowledgement_share": 0.1})"),
            path + ": acknowledgement_share: unknown field; "
                   "docs/cluster-format.md has all");
  EXPECT_EQ(read(link + R"("port": {"pernode": 1}})"),
            path + ": port/pernode: unknown field; docs/cluster-format.md has "
                   "all");
  EXPECT_EQ(readCluster("/nonexistent").status().message(),
            "/nonexistent: cannot open: No such file or directory");
}

TEST(ClusterFiles, AreShippedByName) {
  EXPECT_EQ(shippedClusters(),
            (std::vector<std::string>{"gb200", "h100", "paper-cluster-a",
                                      "paper-cluster-b"}));
  for (const std::string &name : shippedClusters()) {
    auto shipped = readCluster(name),
         file = readCluster(ETC_CLUSTERS "/" + name + ".json");
    ASSERT_TRUE(shipped && file);
    EXPECT_EQ(shipped->name, file->name);
    EXPECT_EQ(shipped->portRate, file->portRate);
    EXPECT_EQ(shipped->portsPerNode, file->portsPerNode);
  }
}

TEST(ClusterFiles, AllCanBeRead) {
  for (const char *name :
       {"paper-cluster-a", "paper-cluster-b", "h100", "gb200"}) {
    auto cluster = readCluster(ETC_CLUSTERS "/" + std::string(name) + ".json");
    ASSERT_TRUE(cluster) << cluster.status().message();
    EXPECT_GT(cluster->portRate, 0);
  }
}

} // namespace
