//===- LanesTest.cpp - V18: what it finds ---------------------------------===//
//
// A plan of one lane is compared with a request that is not quite the one that
// it was made for, and with a changed file.
//
//===----------------------------------------------------------------------===//

#include "BoundariesFixture.h"

#include "core/plan/Unfold.h"
#include "core/proof/PlanCertificates.h"
#include "etc/Planner/Lanes.h"

using namespace etc;
using namespace etc::test;

namespace {

/// Gated MLPs have views, norms are the same in all lanes, and the vocabulary
/// is padded.
const Options sharded = {{"model", "llama3-8b"},
                         {"layers", "4"},
                         {"hidden", "64"},
                         {"heads", "8"},
                         {"ffn", "128"},
                         {"vocab", "1100"},
                         {"prev", "PP2TP2DP2+zero1"},
                         {"curr", "PP4TP2DP2+zero1"},
                         {"cluster", "5x4"},
                         {"draining", "6,7"}};

class LanesTest : public Boundaries {
protected:
  void SetUp() override {
    PlanOptions how;
    how.lanesFrom = 1;
    how.keepsLanes = true;
    plan(sharded, how);
    if (HasFatalFailure())
      return;
    lane = laneOf(request, 1);
    ASSERT_TRUE(lane);
  }

  const plan::fb::Plan &file() const {
    return *plan::fb::GetPlan(planned.plans.front().data());
  }

  std::string verify(const plan::fb::Plan &plan, const Request &ofLane,
                     const Request &all) {
    error.clear();
    const bool approved = succeeded(verifyLanes(
        *planned.module->getOps<MigrationOp>().begin(), plan, ofLane, all));
    EXPECT_EQ(approved, error.empty());
    return error;
  }

  /// The error about the file where another request is asked for.
  std::string ofAll(llvm::function_ref<void(Request &)> change) {
    Request other = request;
    change(other);
    return verify(file(), *lane, other);
  }

  /// The error about a changed file.
  std::string ofPlan(llvm::function_ref<void(plan::fb::PlanT &)> change) {
    plan::fb::PlanT other;
    file().UnPackTo(&other);
    change(other);
    const std::vector<uint8_t> bytes = plan::packPlan(std::move(other));
    return verify(*plan::fb::GetPlan(bytes.data()), *lane, request);
  }

  std::optional<Request> lane;
};

bool names(const std::string &error, llvm::StringRef what) {
  return llvm::StringRef(error).contains(what) &&
         llvm::StringRef(error).ends_with("(V18)");
}

TEST_F(LanesTest, TheLaneOfTheRequestIsApproved) {
  ASSERT_TRUE(file().lanes());
  EXPECT_EQ(verify(file(), *lane, request), "");
  EXPECT_EQ(file().lanes()->count(), 2u);
  EXPECT_EQ(file().lanes()->vocab(), 1100u);
}

TEST_F(LanesTest, OtherRequestsAreNot) {
  EXPECT_TRUE(
      names(ofAll([](Request &it) { it.prev.parallel.bucketSize = 64; }),
            "prev: the configuration"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.curr.parallel.dp = 1; }),
                    "curr: the configuration"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.curr.parallel.etp = 1; }),
                    "curr.etp is 2"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.model.ffn = 256; }), ".shape"));
  EXPECT_TRUE(
      names(ofAll([](Request &it) { it.model.vocab = 5000; }), ".shape"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.model.vocab = 1101; }),
                    "vocab is 1100"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.nodes.back() = 6; }), "nodes"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.draining = {7}; }), "draining"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.failed = {0, 1}; }), "failed"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.place = "any"; }), "place"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.derive = "none"; }), "derive"));
  EXPECT_TRUE(
      names(ofAll([](Request &it) { it.types = {"master"}; }), "types"));
  EXPECT_TRUE(
      names(ofAll([](Request &it) { it.curr.devices.emplace(16, int64_t{0}); }),
            "curr.devices given"));
}

/// Of the lane's request, too: what it holds is not what the lanes have.
TEST_F(LanesTest, OtherHoldingsAreNot) {
  Request other = *lane;
  for (request::TensorSpec &row : other.model.tensors)
    if (row.name.find("linear_fc2") != std::string::npos)
      row.split = 0;
  EXPECT_TRUE(names(verify(file(), other, request), ".split is 0"));
  other = *lane;
  std::swap(other.model.tensors[1], other.model.tensors[2]);
  EXPECT_TRUE(names(verify(file(), other, request), "a tensor is"));
}

TEST_F(LanesTest, OtherFilesAreNot) {
  auto &lanes = *file().lanes();
  uint32_t cut = 0, viewed = 0;
  for (uint32_t t = 0; t != lanes.axes()->size(); ++t) {
    cut = lanes.axes()->Get(t) == 0 ? t : cut;
    viewed = lanes.view_axes()->Get(t) == 0 ? t : viewed;
  }
  EXPECT_TRUE(names(ofPlan([&](auto &it) { it.lanes->axes[cut] = 1; }),
                    ".lane axis is 1"));
  EXPECT_TRUE(names(ofPlan([&](auto &it) { it.lanes->axes[cut] = -1; }),
                    ".lane axis is -1"));
  EXPECT_TRUE(names(ofPlan([&](auto &it) { it.lanes->view_axes[viewed] = 1; }),
                    ".view"));
  EXPECT_TRUE(
      names(ofPlan([&](auto &it) { ++it.tensors[cut]->shape[0]; }), ".shape"));
  EXPECT_TRUE(names(ofPlan([&](auto &it) { it.tensors[cut]->name = "other"; }),
                    "other is present"));
  EXPECT_TRUE(
      names(ofPlan([](auto &it) { it.lanes->vocab = 1; }), "vocab is 1"));
  EXPECT_TRUE(names(ofPlan([](auto &it) { it.lanes->count = 4; }), "4"));
  EXPECT_TRUE(
      names(ofPlan([](auto &it) { ++it.lanes->internode_bound; }), "bound"));
}

/// Links as slow as NICs: the bound counts a device of the lane separately.
TEST_F(LanesTest, InnerDevicesOfBoundsAreThoseOfAllLanes) {
  Options slow = sharded;
  slow.erase("draining");
  slow["prev"] = "PP4TP2+zero1";
  slow["curr"] = "PP4TP2DP2+zero1";
  slow["cluster"] = "4x4@paper-cluster-a";
  PlanOptions how;
  how.lanesFrom = 1;
  how.keepsLanes = true;
  migrations.clear();
  plan(slow, how);
  ASSERT_TRUE(file().lanes() && file().time_bound()->inner());
  const uint32_t inner = file().time_bound()->inner()->Get(0);
  const plan::fb::PlanT all = plan::unfoldPlan(file());
  EXPECT_EQ(all.time_bound->inner,
            (std::vector<uint32_t>{2 * inner, 2 * inner + 1}));

  const auto judge = [](plan::fb::PlanT plan) {
    const std::vector<uint8_t> bytes = plan::packPlan(std::move(plan));
    const plan::PlanIndex index(*plan::fb::GetPlan(bytes.data()));
    return verifyCertificates(index).message();
  };
  EXPECT_EQ(judge(all), "");
  plan::fb::PlanT other = all;
  other.time_bound->inner.pop_back();
  EXPECT_NE(judge(other), "");
}

/// Requests whose lanes are not alike are planned as they are.
TEST_F(LanesTest, OnlyAlikeLanesAreOne) {
  auto hasLane = [&](llvm::function_ref<void(Request &)> change) {
    Request other = request;
    change(other);
    return laneOf(other, 1).has_value();
  };
  EXPECT_TRUE(hasLane([](Request &) {}));
  EXPECT_FALSE(laneOf(request, 17));
  EXPECT_TRUE(laneOf(request, 16));
  EXPECT_FALSE(hasLane([](Request &it) { it.curr.parallel.tp = 4; }));
  EXPECT_FALSE(hasLane([](Request &it) { it.curr.parallel.etp = 1; }));
  EXPECT_FALSE(hasLane([](Request &it) { it.policy = "paper"; }));
  EXPECT_FALSE(hasLane([](Request &it) { it.nodes.back() = 5; }));
  EXPECT_FALSE(hasLane([](Request &it) { it.rates.nics = 2; }));
  EXPECT_FALSE(hasLane([](Request &it) { it.failed = {3}; }));
  EXPECT_FALSE(hasLane([](Request &it) { it.failed = {3, 4}; }));
  EXPECT_TRUE(hasLane([](Request &it) { it.failed = {2, 3}; }));
  EXPECT_FALSE(hasLane([](Request &it) { it.prev.devices = {{1, 0, 2, 3}}; }));
  EXPECT_TRUE(hasLane([](Request &it) { it.prev.devices = {{4, 5, 0, 1}}; }));
  EXPECT_FALSE(hasLane([](Request &it) {
    it.prev.parallel.distributedOptimizer = false;
    it.curr.parallel.distributedOptimizer = false;
  }));
}

} // namespace
