// Each test breaks one rule of an accepted plan and expects the referee to say
// which, and where.

#include "PlanFixture.h"

#include <gtest/gtest.h>

using namespace etc::plan;
using namespace etc::plan::test;

namespace {

/// The ops of one round.
std::vector<fb::Op> &opsOf(fb::PlanT &plan, size_t program, size_t round) {
  return plan.programs[program]->rounds[round]->ops;
}

void eraseOp(std::vector<fb::Op> &ops, size_t at) {
  ops.erase(ops.begin() + at);
}

/// Adds bounds to a plan.
uint32_t newBox(fb::PlanT &plan, Ranges ranges) {
  PlanBuilder builder;
  builder.plan = std::move(plan);
  uint32_t offset = builder.box(ranges);
  plan = std::move(builder.plan);
  return offset;
}

void setBox(fb::PlanT &plan, fb::Op &op, Ranges ranges) {
  op.mutate_box(newBox(plan, ranges));
}

TEST(Referee, AcceptsTheFixtures) {
  EXPECT_EQ(judge(twoStagePlan()), "");
  EXPECT_EQ(judge(deferredPlan()), "");
  EXPECT_EQ(judge(relayPlan()), "");
  EXPECT_EQ(judge(transitPlan()), "");
  EXPECT_EQ(judge(certifiedPlan()), "");
  EXPECT_EQ(judge(certifiedRelayPlan()), "");
}

TEST(Referee, R1NamesWhatIsMissing) {
  fb::PlanT plan = twoStagePlan();
  eraseOp(opsOf(plan, 0, 1), 0);
  EXPECT_EQ(judge(plan), "programs[0] (device 0): nothing writes [0:2, 0:4] of "
                         "layer.weight (master)");

  plan = twoStagePlan();
  setBox(plan, opsOf(plan, 1, 0)[5], {{5, 6}, {1, 4}});
  EXPECT_EQ(judge(plan), "programs[1] (device 2): nothing writes [5:6, 0:1] of "
                         "embedding.weight (param)");
}

TEST(Referee, R1NamesBothWrites) {
  fb::PlanT plan = twoStagePlan();
  opsOf(plan, 0, 1).push_back(opsOf(plan, 0, 0)[3]);
  EXPECT_EQ(judge(plan),
            "programs[0].rounds[1].ops[1]: writes [0:3, 0:4] of "
            "embedding.weight (param), of which rounds[0].ops[3] writes "
            "[0:3, 0:4] too");
}

TEST(Referee, R2BoxesLieWithinShards) {
  fb::PlanT plan = twoStagePlan();
  setBox(plan, opsOf(plan, 0, 0)[3], {{0, 4}, {0, 4}});
  EXPECT_EQ(judge(plan), "programs[0].rounds[0].ops[3]: [0:4, 0:4] is not "
                         "within one box of the current shard of "
                         "embedding.weight (param)");

  plan = twoStagePlan();
  setBox(plan, opsOf(plan, 0, 0)[0], {{3, 6}, {0, 4}});
  EXPECT_EQ(judge(plan), "programs[0].rounds[0].ops[0]: [3:6, 0:4] is not "
                         "within one box of the previous shard of "
                         "embedding.weight (param)");
}

TEST(Referee, R2TensorsAreHeld) {
  fb::PlanT plan = twoStagePlan();
  opsOf(plan, 0, 0)[0] = send(0, 1, 1, opsOf(plan, 0, 0)[2].box());
  EXPECT_EQ(judge(plan), "programs[0].rounds[0].ops[0]: the program holds no "
                         "previous shard of layer.weight (param)");

  plan = twoStagePlan();
  opsOf(plan, 0, 1).push_back(release(1));
  EXPECT_EQ(judge(plan), "programs[0].rounds[1].ops[1]: the program holds no "
                         "previous shard of layer.weight (param)");
}

TEST(Referee, R2SourcesAreTwins) {
  fb::PlanT plan = twoStagePlan();
  opsOf(plan, 0, 0)[0].mutate_source(1);
  EXPECT_EQ(judge(plan),
            "programs[0].rounds[0].ops[0]: source layer.weight (param) is not "
            "tied to embedding.weight (param)");

  plan = relayPlan();
  opsOf(plan, 2, 2)[0].mutate_source(1);
  EXPECT_EQ(judge(plan),
            "programs[2].rounds[2].ops[0]: source w (param) is not what "
            "w (param) is derived from");

  plan = twoStagePlan();
  opsOf(plan, 1, 0)[7].mutate_source(0);
  EXPECT_EQ(judge(plan),
            "programs[1].rounds[0].ops[7]: source embedding.weight (param) is "
            "not layer.weight (param), the op's tensor");
}

TEST(Referee, R2ZeroesOnlyWhatIsNew) {
  fb::PlanT plan = twoStagePlan();
  setBox(plan, opsOf(plan, 1, 0)[5], {{4, 6}, {0, 4}});
  EXPECT_EQ(judge(plan),
            "programs[1].rounds[0].ops[5]: zeroes [4:6, 0:4] of "
            "embedding.weight (param), which has previous elements");
}

TEST(Referee, R3MissingReceiveOrSend) {
  fb::PlanT plan = twoStagePlan();
  eraseOp(opsOf(plan, 1, 1), 0);
  EXPECT_EQ(judge(plan),
            "programs[0].rounds[1].ops[0]: device 0 receives [0:2, 0:4] of "
            "layer.weight (master), device 2 does not send it in round 1");

  plan = twoStagePlan();
  opsOf(plan, 0, 0).insert(opsOf(plan, 0, 0).begin(), opsOf(plan, 0, 0)[0]);
  plan.programs[0]->send_slab = 48;
  plan.programs[0]->peak = 176;
  plan.programs[0]->peak_safe = 208;
  EXPECT_EQ(judge(plan),
            "programs[1].rounds[0].ops[2]: device 2 receives [3:5, 0:4] of "
            "head.weight (param) from embedding.weight (param) where device 0 "
            "sends [3:5, 0:4] of embedding.weight (param)");
}

TEST(Referee, R3WrongOrder) {
  fb::PlanT plan = twoStagePlan();
  std::swap(opsOf(plan, 1, 0)[1], opsOf(plan, 1, 0)[2]);
  EXPECT_EQ(judge(plan),
            "programs[1].rounds[0].ops[1]: device 2 receives [3:5, 0:4] of "
            "head.weight (param) from embedding.weight (param) where device 0 "
            "sends [3:5, 0:4] of embedding.weight (param)");
}

TEST(Referee, R3WrongRound) {
  fb::PlanT plan = relayPlan();
  std::swap(opsOf(plan, 2, 0), opsOf(plan, 2, 1));
  EXPECT_EQ(judge(plan),
            "programs[2].rounds[0].ops[0]: device 2 receives [0:8] of "
            "w (master), device 1 does not send it in round 0");
}

TEST(Referee, R3WrongPeer) {
  fb::PlanT plan = twoStagePlan();
  plan.programs[0]->peers[0]->devices = {3, 3};
  EXPECT_EQ(judge(plan), "programs[0].peers[0].devices[0]: device 3 does not "
                         "have device 0 as a peer");

  plan = relayPlan();
  plan.programs[1]->peers[1]->devices = {0};
  EXPECT_EQ(judge(plan),
            "programs[1].peers[1].devices[0]: device 0 is in peers[0] already");
}

TEST(Referee, R4ReadAfterRelease) {
  fb::PlanT plan = twoStagePlan();
  fb::Op late = opsOf(plan, 0, 0)[3];
  eraseOp(opsOf(plan, 0, 0), 3);
  opsOf(plan, 0, 1).push_back(late);
  EXPECT_EQ(judge(plan), "programs[0].rounds[1].ops[1]: read after release: "
                         "round 0 released embedding.weight (param)");
}

TEST(Referee, R4Releases) {
  fb::PlanT plan = twoStagePlan();
  opsOf(plan, 0, 1).push_back(release(0));
  EXPECT_EQ(judge(plan), "programs[0].rounds[1].ops[1]: releases "
                         "embedding.weight (param), which round 0 released");

  plan = twoStagePlan();
  opsOf(plan, 0, 1).push_back(release(3));
  EXPECT_EQ(judge(plan),
            "programs[0].rounds[1].ops[1]: releases norm.weight (param), whose "
            "memory round 0 bound as the current shard");
}

TEST(Referee, R5RelaysAndDerivesReadEarlierRounds) {
  fb::PlanT plan = relayPlan();
  fb::Op early = opsOf(plan, 1, 1)[0];
  opsOf(plan, 1, 1).clear();
  opsOf(plan, 1, 0).push_back(early);
  EXPECT_EQ(judge(plan),
            "programs[1].rounds[0].ops[1]: relays [0:8] of w (master) in round "
            "0, the round that writes it; the next one can");

  plan = relayPlan();
  std::swap(opsOf(plan, 1, 0), opsOf(plan, 1, 1));
  EXPECT_EQ(judge(plan), "programs[1].rounds[0].ops[0]: relays [0:8] of "
                         "w (master) before it is written");

  plan = relayPlan();
  opsOf(plan, 2, 1).push_back(opsOf(plan, 2, 2)[0]);
  opsOf(plan, 2, 2).clear();
  EXPECT_EQ(judge(plan),
            "programs[2].rounds[1].ops[1]: derives from [0:8] of w (master) in "
            "round 1, the round that writes it; the next one can");
}

TEST(Referee, R6PeakIsExact) {
  fb::PlanT plan = twoStagePlan();
  plan.programs[1]->peak = 100;
  EXPECT_EQ(judge(plan), "programs[1]: peak is 240 bytes in round 0, the plan "
                         "states 100");
  plan.programs[1]->peak = 241;
  EXPECT_EQ(judge(plan), "programs[1]: peak is 240 bytes in round 0, the plan "
                         "states 241");
  plan = twoStagePlan();
  plan.programs[0]->peak_safe = 191;
  EXPECT_EQ(judge(plan),
            "programs[0]: safe peak is 192 bytes, the plan states 191");
}

TEST(Referee, R6ReleasesLowerThePeak) {
  fb::PlanT plan = twoStagePlan();
  opsOf(plan, 0, 0).pop_back();
  EXPECT_EQ(judge(plan), "programs[0]: peak is 192 bytes in round 1, the plan "
                         "states 160");
}

TEST(Referee, R6SlabsHoldTheBusiestRound) {
  fb::PlanT plan = twoStagePlan();
  plan.programs[0]->send_slab = 31;
  EXPECT_EQ(judge(plan), "programs[0].send_slab: 31 bytes, round 0 sends 32");
  plan = twoStagePlan();
  plan.programs[0]->recv_slab = 31;
  EXPECT_EQ(judge(plan),
            "programs[0].recv_slab: 31 bytes, round 1 receives 32");
}

TEST(Referee, R7Summary) {
  struct Case {
    uint64_t fb::SummaryT::*field;
    const char *message;
  };
  for (const Case &wrong : {
           Case{&fb::SummaryT::moved_bytes, "summary.moved_bytes: is 160"},
           Case{&fb::SummaryT::kept_bytes, "summary.kept_bytes: is 208"},
           Case{&fb::SummaryT::zeroed_bytes, "summary.zeroed_bytes: is 32"},
           Case{&fb::SummaryT::derived_bytes, "summary.derived_bytes: is 0"},
           Case{&fb::SummaryT::internode_bytes,
                "summary.internode_bytes: is 160"},
           Case{&fb::SummaryT::max_send_bytes, "summary.max_send_bytes: is 48"},
           Case{&fb::SummaryT::max_recv_bytes, "summary.max_recv_bytes: is 48"},
       }) {
    fb::PlanT plan = twoStagePlan();
    (*plan.summary).*wrong.field = 7;
    EXPECT_EQ(judge(plan), std::string(wrong.message) + ", the plan states 7");
  }
}

TEST(Referee, R7BoundsAreBounds) {
  fb::PlanT plan = twoStagePlan();
  plan.summary->bound_moved_bytes = 161;
  EXPECT_EQ(judge(plan),
            "summary.bound_moved_bytes: 161 is above the plan's own 160");
}

TEST(Referee, R7Forecast) {
  fb::PlanT plan = twoStagePlan();
  plan.forecast[1].mutate_moved_bytes(65);
  EXPECT_EQ(judge(plan), "forecast[1].moved_bytes: is 64, the plan states 65");
  plan = twoStagePlan();
  plan.forecast[0].mutate_max_port_bytes(48);
  EXPECT_EQ(judge(plan),
            "forecast[0].max_port_bytes: is 32, the plan states 48");
}

TEST(Referee, R7Placement) {
  fb::PlanT plan = twoStagePlan();
  plan.curr_placement = {0, 0, 1, 3};
  EXPECT_EQ(judge(plan), "curr_placement: two ranks are on device 0");
  plan = twoStagePlan();
  plan.curr_placement = {0, 1, 3};
  plan.curr = grid(1, /*tp=*/3, 1);
  EXPECT_EQ(judge(plan),
            "curr_placement: device 2 holds current state and has no rank");
  // A rank without state is one of an empty stage; it takes part all the same.
  plan = relayPlan();
  plan.curr_placement = {1, 2, 0};
  plan.curr = grid(/*pp=*/3, 1, 1);
  EXPECT_EQ(judge(plan), "curr_placement[2]: device 0 has the role none, which "
                         "is not that of the rank");
  plan.programs[0]->curr_role = std::make_unique<fb::Role>(2, 0, -1);
  EXPECT_EQ(judge(plan), "");
  std::swap(plan.curr_placement[0], plan.curr_placement[1]);
  EXPECT_EQ(judge(plan), "curr_placement[0]: device 2 has the role P1T0, which "
                         "is not that of the rank");
  // Nor is there a role that no rank has, or a holder without one.
  plan = relayPlan();
  plan.programs[0]->curr_role = std::make_unique<fb::Role>(0, 0, -1);
  EXPECT_EQ(judge(plan),
            "curr_placement: device 0 has the role P0T0 and no rank");
  plan = relayPlan();
  plan.programs[0]->prev_role.reset();
  EXPECT_EQ(judge(plan), "prev_placement[0]: device 0 has the role none, which "
                         "is not that of the rank");
  plan = relayPlan();
  plan.nodes = {4};
  plan.curr = grid(/*pp=*/3, 1, 1);
  plan.curr_placement = {3, 1, 2};
  EXPECT_EQ(judge(plan), "curr_placement[0]: device 3 is no participant");
  // An inventory has a rank for each device, too.
  plan = twoStagePlan();
  plan.prev_placement.clear();
  plan.prev = grid(1, 1, /*dp=*/4);
  plan.prev->inventory = true;
  EXPECT_EQ(judge(plan), "prev_placement: 0 entries, prev has 4 ranks");
  EXPECT_EQ(checkPlan(*fb::GetPlan(packPlan(plan).data())).message(),
            "prev_placement: device 0 holds previous state and has no rank");
}

TEST(Referee, R9TransitArrivesBeforeItLeaves) {
  fb::PlanT plan = transitPlan();
  std::swap(plan.programs[1]->rounds[0], plan.programs[1]->rounds[1]);
  EXPECT_EQ(judge(plan), "programs[1].rounds[0].ops[0]: passes on [4:8] of "
                         "w (param), which has not arrived in an earlier "
                         "round");
  plan = transitPlan();
  opsOf(plan, 1, 1)[0].mutate_transit(false);
  EXPECT_EQ(judge(plan), "programs[1].rounds[1].ops[0]: the program holds no "
                         "previous shard of w (param)");
  plan = transitPlan();
  setBox(plan, opsOf(plan, 1, 0)[0], {{4, 7}});
  EXPECT_EQ(judge(plan),
            "programs[1] (device 1): nothing writes [7:8] of w (param)");
}

TEST(Referee, R9TransitIsReleasedOnceAndLast) {
  const std::string shard = "programs[1]: the transit shard of w (param) ";
  fb::PlanT plan = transitPlan();
  eraseOp(opsOf(plan, 1, 1), 1);
  EXPECT_EQ(judge(plan), shard + "is never released");
  plan = transitPlan();
  opsOf(plan, 1, 0).push_back(opsOf(plan, 1, 1)[1]);
  eraseOp(opsOf(plan, 1, 1), 1);
  EXPECT_EQ(judge(plan), shard + "is released in round 0, and used in round 1");
  plan = transitPlan();
  opsOf(plan, 1, 1).push_back(opsOf(plan, 1, 1)[1]);
  EXPECT_EQ(judge(plan),
            "programs[1].rounds[1].ops[2]: releases the transit shard of "
            "w (param), which round 1 released");
  plan = transitPlan();
  eraseOp(opsOf(plan, 1, 1), 0);
  EXPECT_EQ(judge(plan), shard + "is never passed on");
}

TEST(Referee, R6CountsWhatIsInTransit) {
  fb::PlanT plan = transitPlan();
  plan.programs[1]->peak -= 16;
  EXPECT_EQ(judge(plan),
            "programs[1]: peak is 56 bytes in round 0, the plan states 40");
  plan = transitPlan();
  plan.programs[1]->peak_safe -= 16;
  EXPECT_EQ(judge(plan),
            "programs[1]: safe peak is 56 bytes, the plan states 40");
}

TEST(Referee, R7CountsWhatIsInTransit) {
  fb::PlanT plan = transitPlan();
  plan.summary->transit_bytes = 0;
  EXPECT_EQ(judge(plan), "summary.transit_bytes: is 16, the plan states 0");
}

} // namespace
