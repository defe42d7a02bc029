// Whether duals suffice for what roles share: by the arithmetic of the
// fixtures, where row 0 has 40 and 64 bytes on columns 0 and 1, row 1 has 48
// and 64.

#include "../Runtime/PlanFixture.h"

#include "core/proof/PlanCertificates.h"

#include <gtest/gtest.h>

using namespace etc::plan;
using namespace etc::plan::test;

namespace {

/// What the referee says, then whoever looks at the proof. "" is approval.
std::string verdict(fb::PlanT plan) {
  std::vector<uint8_t> bytes = packPlan(std::move(plan));
  const PlanIndex index(*fb::GetPlan(bytes.data()));
  if (Status s = checkPlanBytes(bytes); !s.ok())
    return s.message();
  if (Status s = checkPlan(index); !s.ok())
    return s.message();
  return etc::verifyCertificates(index).message();
}

fb::PlanT withDuals(std::vector<uint64_t> rows, std::vector<uint64_t> columns,
                    uint64_t bound) {
  fb::PlanT plan = certifiedPlan();
  plan.certificates[0]->row_duals = std::move(rows);
  plan.certificates[0]->column_duals = std::move(columns);
  plan.certificates[0]->bound = plan.summary->bound_moved_bytes = bound;
  plan.summary->bound_bottleneck_bytes = (bound + 3) / 4;
  return plan;
}

TEST(PlanCertificates, AcceptsProofs) {
  EXPECT_EQ(verdict(twoStagePlan()), "");
  EXPECT_EQ(verdict(certifiedPlan()), "");
  EXPECT_EQ(verdict(certifiedRelayPlan()), "");
  // A loose one proves less, which is true as well.
  EXPECT_EQ(verdict(withDuals({64, 64}, {0, 0}, 112)), "");
}

TEST(PlanCertificates, DualsCoverAllPairs) {
  // 2 * (40 + 56 + 0 + 16) is the same sum.
  EXPECT_EQ(verdict(withDuals({40, 56}, {0, 16}, 144)),
            "certificates[0]: row_duals[0] + column_duals[1] is 56, less "
            "than the 64 bytes of row 0 that column 1 has");
  EXPECT_EQ(verdict(withDuals({56, 40}, {0, 16}, 144)),
            "certificates[0]: row_duals[1] + column_duals[0] is 40, less "
            "than the 48 bytes of row 1 that column 0 has");
  // A bound that claims more.
  EXPECT_EQ(verdict(withDuals({48, 48}, {0, 15}, 146)),
            "certificates[0]: row_duals[0] + column_duals[1] is 63, less "
            "than the 64 bytes of row 0 that column 1 has");
}

TEST(PlanCertificates, TheOneBetweenNodesIsLookedAtToo) {
  fb::PlanT plan = certifiedPlan();
  plan.certificates[1]->row_duals = {49, 47};
  EXPECT_EQ(verdict(std::move(plan)),
            "certificates[1]: row_duals[1] + column_duals[0] is 47, less "
            "than the 48 bytes of row 1 that column 0 has");
}

TEST(PlanCertificates, BarredDevicesNeedNoDual) {
  fb::PlanT plan = certifiedRelayPlan();
  plan.certificates[0]->column_duals = {0};
  EXPECT_EQ(verdict(std::move(plan)), "");
}

/// Of every node, with rates in bytes a second.
void addResources(fb::PlanT &plan, uint32_t nics) {
  plan.resources = std::make_unique<fb::ResourcesT>();
  plan.resources->name = "made";
  plan.resources->link_rate = 100;
  plan.resources->nics = nics;
  plan.resources->nic_rate = 10;
  plan.resources->pack_rate = 1000;
}

// Node 0 lacks 16 bytes of the layer and 32 of its master, which its two
// devices receive over a NIC each. The master is deferred.
TEST(PlanCertificates, BoundsOfTimeAreCountedAgain) {
  auto withBounds = [](auto change) {
    fb::PlanT plan = deferredPlan();
    addResources(plan, /*nics=*/2);
    for (auto [bound, bytes] :
         {std::pair(&plan.time_bound, 48), std::pair(&plan.pause_bound, 16)}) {
      *bound = std::make_unique<fb::TimeBoundT>();
      (*bound)->devices = {0, 1};
      (*bound)->rate = 20;
      (*bound)->bytes = bytes;
    }
    change(plan);
    return verdict(std::move(plan));
  };
  EXPECT_EQ(withBounds([](fb::PlanT &) {}), "");
  EXPECT_EQ(withBounds([](fb::PlanT &p) { p.pause_bound->bytes = 48; }),
            "pause_bound.bytes: is 48, 16 have to cross");
  EXPECT_EQ(withBounds([](fb::PlanT &p) { p.time_bound->bytes = 16; }),
            "time_bound.bytes: is 16, 48 have to cross");
  EXPECT_EQ(withBounds([](fb::PlanT &p) { p.pause_bound->rate = 10; }),
            "pause_bound.rate: is 10, 20 bytes a second can cross");
  // Device 0 alone lacks as much, and has a link to its neighbour, too.
  EXPECT_EQ(withBounds([](fb::PlanT &p) { p.pause_bound->devices = {0}; }),
            "pause_bound.rate: is 20, 110 bytes a second can cross");
  // What device 0 lacks of the node's counts as well, and its link.
  auto inner = [&](uint64_t bytes, uint64_t rate, bool outgoing = false) {
    return withBounds([&](fb::PlanT &p) {
      p.features |= kInnerFeature;
      p.pause_bound->inner = {0};
      p.pause_bound->bytes = bytes;
      p.pause_bound->rate = rate;
      p.pause_bound->outgoing = outgoing;
    });
  };
  EXPECT_EQ(inner(16, 120), "");
  EXPECT_EQ(inner(17, 120), "pause_bound.bytes: is 17, 16 have to cross");
  EXPECT_EQ(inner(16, 20),
            "pause_bound.rate: is 20, 120 bytes a second can cross");
  EXPECT_EQ(inner(16, 120, /*outgoing=*/true), "");
  EXPECT_EQ(inner(17, 120, /*outgoing=*/true),
            "pause_bound.bytes: is 17, 16 have to cross");
  // All of the embedding's rows 3 and 4, and as many of the head, leave.
  EXPECT_EQ(withBounds([](fb::PlanT &p) { p.pause_bound->outgoing = true; }),
            "");
}

TEST(PlanCertificates, ABoundOverAllRolesNeedsItsProof) {
  auto withBound = [](std::vector<uint64_t> rows) {
    fb::PlanT plan = twoStagePlan();
    addResources(plan, /*nics=*/1);
    plan.role_bound = std::make_unique<fb::RoleBoundT>();
    plan.role_bound->of_nodes = true;
    plan.role_bound->inside = {0, 1};
    plan.role_bound->bytes = 1;
    plan.role_bound->rate = 20;
    plan.role_bound->row_duals = std::move(rows);
    plan.role_bound->column_duals = {0, 0};
    return verdict(std::move(plan));
  };
  EXPECT_EQ(withBound({}), "role_bound: has 0 values of u, expected 2");
  EXPECT_EQ(withBound({0, 0}),
            "role_bound: proves nothing: u[0] + v[0] is less than the 32 bytes "
            "that role 0 finds on column 0");
}

TEST(PlanCertificates, UrgentBytesAreNotAllBytes) {
  fb::PlanT plan = certifiedPlan();
  plan.certificates[1]->counted = fb::Counted::urgent;
  EXPECT_EQ(verdict(std::move(plan)), "certificates[1].counted: is urgent, but "
                                      "duals count all bytes");
}

// Two devices of a node need each of the 144 bytes, which enter it once.
TEST(PlanCertificates, RelaysBringBytesToANodeOnce) {
  auto withBound = [](uint64_t bound) {
    fb::PlanT plan = certifiedPlan();
    plan.certificates[1]->covers_relays = true;
    plan.certificates[1]->bound = plan.summary->bound_internode_bytes = bound;
    return plan;
  };
  EXPECT_EQ(verdict(withBound(72)), "");
  EXPECT_EQ(verdict(withBound(73)), "certificates[1].bound: is 73, with relays "
                                    "72 bytes have to enter nodes");
}

} // namespace
