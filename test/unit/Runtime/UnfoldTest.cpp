// Plans of one lane: who reads one finds the plan of all lanes, and damaged
// tables are refused.

#include "LaneFixture.h"

#include "core/plan/Condense.h"
#include "core/plan/Unfold.h"

#include <gtest/gtest.h>

#include <functional>

using namespace etc;
using namespace etc::plan;
using namespace etc::plan::test;

namespace {

Result<PlanFile> readPlan(std::vector<uint8_t> bytes) {
  auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  return PlanFile::read(*owner, owner);
}

/// What the referee says of a plan of lanes, whose programs it looks at in one
/// lane; in all of them it finds the same.
std::string judge(const PlanFile &file) {
  const PlanIndex index(file.plan());
  const Status inLane = checkPlan(index, file.lane()), inAll = checkPlan(index);
  EXPECT_EQ(inLane.ok(), inAll.ok())
      << "in a lane: " << inLane.message() << ", in all: " << inAll.message();
  return inLane.message();
}

std::string refusalOf(fb::PlanT plan) {
  return readPlan(packPlan(std::move(plan))).status().message();
}

TEST(UnfoldTest, RefereeTakesWhatIsRead) {
  for (fb::PlanT (*make)() : {relayPlan, transitPlan, certifiedRelayPlan})
    for (bool isCondensed : {false, true}) {
      std::vector<uint8_t> bytes = packPlan(ofLane(make()));
      if (isCondensed)
        bytes = condensePlan(bytes);
      const Result<PlanFile> file = readPlan(bytes);
      ASSERT_EQ(file.status().message(), "");
      EXPECT_EQ(judge(*file), "");
      EXPECT_EQ(file->plan().lanes(), nullptr);
      EXPECT_EQ(file->plan().features() & kLanesFeature, 0u);
      EXPECT_EQ(file->plan().programs()->size(), 3 * make().programs.size());
    }
}

/// Three lanes of 8 elements each: 24, of which lane 2 has the last 8.
TEST(UnfoldTest, LanesFollowEachOther) {
  const Result<PlanFile> file = readPlan(packPlan(ofLane(relayPlan())));
  ASSERT_EQ(file.status().message(), "");
  const fb::Plan &plan = file->plan();
  const PlanIndex index(plan);
  EXPECT_EQ(plan.tensors()->Get(0)->shape()->Get(0), 24);
  EXPECT_EQ(plan.nodes()->Get(0), 9u);
  EXPECT_EQ(plan.participants()->size(), 9u);
  EXPECT_EQ(plan.curr()->tp(), 3u);
  EXPECT_EQ(plan.summary()->moved_bytes(), 3 * 64u);
  EXPECT_EQ(plan.summary()->max_send_bytes(), 32u);
  // Lane 2 of device 1 receives from lane 2 of device 0.
  const fb::Program &middle = *plan.programs()->Get(3 + 2);
  EXPECT_EQ(middle.devices()->Get(0), 5u);
  EXPECT_EQ(middle.peers()->Get(0)->devices()->Get(0), 2u);
  EXPECT_EQ(middle.curr_role()->slot(), 2u);
  const BoxView box = index.opBox(*middle.rounds()->Get(0)->ops()->Get(0));
  EXPECT_EQ(box[0], (Span{16, 24}));
}

TEST(UnfoldTest, LanesHaveSharedTensorsAlike) {
  const Result<PlanFile> file = readPlan(packPlan(ofLane(relayPlan(), {0, 1})));
  ASSERT_EQ(file.status().message(), "");
  EXPECT_EQ(judge(*file), "");
  EXPECT_EQ(file->plan().tensors()->Get(0)->shape()->Get(0), 8);
  EXPECT_EQ(file->plan().bounds()->size(), relayPlan().bounds.size());
}

/// Of all lanes, a file states the bytes and the rate.
TEST(UnfoldTest, BoundsOfTimeHaveTheDevicesOfAllLanes) {
  fb::PlanT plan = ofLane(relayPlan());
  plan.resources = std::make_unique<fb::ResourcesT>();
  plan.resources->name = "of a test";
  plan.resources->link_rate = plan.resources->nic_rate =
      plan.resources->pack_rate = 10;
  plan.time_bound = std::make_unique<fb::TimeBoundT>();
  plan.time_bound->devices = {0, 2};
  plan.time_bound->bytes = 100;
  plan.time_bound->rate = 7;
  plan.time_bound->inner = {2};
  plan.features |= kInnerFeature;
  const Result<PlanFile> file = readPlan(packPlan(std::move(plan)));
  ASSERT_EQ(file.status().message(), "");
  const fb::TimeBound &bound = *file->plan().time_bound();
  EXPECT_EQ(bound.bytes(), 100u);
  EXPECT_EQ(bound.rate(), 7u);
  const std::vector<uint32_t> devices(bound.devices()->begin(),
                                      bound.devices()->end());
  EXPECT_EQ(devices, (std::vector<uint32_t>{0, 1, 2, 6, 7, 8}));
  const std::vector<uint32_t> inner(bound.inner()->begin(),
                                    bound.inner()->end());
  EXPECT_EQ(inner, (std::vector<uint32_t>{6, 7, 8}));
}

TEST(UnfoldTest, MalformedTables) {
  struct Case {
    std::function<void(fb::PlanT &)> change;
    const char *message;
  };
  const Case cases[] = {
      {[](fb::PlanT &p) { p.features = 0; },
       "features: a plan of lanes has flag 8, and no other"},
      {[](fb::PlanT &p) { p.lanes.reset(); },
       "features: a plan of lanes has flag 8, and no other"},
      {[](fb::PlanT &p) { p.lanes->count = 1; },
       "lanes.count: 1 is not in [2, 4096]"},
      {[](fb::PlanT &p) { p.lanes->count = ~0u; },
       "lanes.count: 4294967295 is not in [2, 4096]"},
      {[](fb::PlanT &p) { p.nodes = {1 << 23}; },
       "lanes.count: 3 x 8388608 devices, the most are 16777216"},
      {[](fb::PlanT &p) { p.lanes->axes.pop_back(); },
       "lanes.axes: 1 entries, there are 2 tensors"},
      {[](fb::PlanT &p) { p.lanes->view_axes = {}; },
       "lanes.view_axes: 0 entries, there are 2 tensors"},
      {[](fb::PlanT &p) { p.lanes->axes[0] = 1; },
       "lanes.axes[0]: 1 is not in [-1, 1)"},
      {[](fb::PlanT &p) { p.lanes->axes[0] = -2; },
       "lanes.axes[0]: -2 is not in [-1, 1)"},
      {[](fb::PlanT &p) { p.lanes->view_axes[1] = 0; },
       "lanes.view_axes[1]: 0 is not in [-1, 0)"},
      {[](fb::PlanT &p) {
         p.tensors[0]->view = {2, 4};
       },
       "lanes.view_axes[0]: -1 does not go with the axis 0"},
      {[](fb::PlanT &p) { p.tensors[0]->prev_shape = {8}; },
       "tensors[0].prev_shape: parts of lanes keep their shape"},
      {[](fb::PlanT &p) { p.lanes->axes[0] = -1; },
       "lanes.axes[1]: 0, that of tensors[0] is -1"},
      {[](fb::PlanT &p) {
         p.summary->paper_policy = std::make_unique<fb::VolumesT>();
       },
       "lanes: role_bound and paper_policy are of all lanes"},
      {[](fb::PlanT &p) { p.prev->inventory = true; },
       "prev: of lanes, a configuration without tensor parallelism"},
  };
  for (const Case &it : cases) {
    fb::PlanT plan = ofLane(relayPlan());
    it.change(plan);
    EXPECT_EQ(refusalOf(std::move(plan)), it.message);
  }
}

/// A file may not ask for much more memory than it has bytes.
TEST(UnfoldTest, FilesStateNoMoreThanReadersHave) {
  const std::vector<uint8_t> bytes = packPlan(ofLane(relayPlan()));
  const fb::Plan &plan = *fb::GetPlan(bytes.data());
  EXPECT_EQ(checkLanes(plan, 1 << 20, 1 << 9).message(), "");
  EXPECT_EQ(checkLanes(plan, 1 << 20, 1 << 8).message(),
            "lanes: states more than 2097152 bytes of tables, which is the "
            "most for this file");
}

/// Damage with a right hash, as a faulty writer makes it.
TEST(UnfoldTest, SealedDamageIsHarmless) {
  const std::vector<uint8_t> bytes =
      condensePlan(packPlan(ofLane(transitPlan(), {1})));
  for (size_t at = 8; at != bytes.size(); ++at)
    for (uint8_t value : {0x00, 0x01, 0x7f, 0xff}) {
      std::vector<uint8_t> damaged = bytes;
      damaged[at] = value;
      flatbuffers::Verifier verifier(damaged.data(), damaged.size());
      if (!fb::VerifyPlanBuffer(verifier) || !sealPlan(damaged).ok())
        continue;
      const Result<PlanFile> file = readPlan(damaged);
      if (file)
        (void)judge(*file);
      else
        EXPECT_EQ(file.status().message().find('\n'), std::string::npos);
    }
}

} // namespace
