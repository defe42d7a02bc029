// Whether duals suffice for what roles share: by the arithmetic of the
// fixtures, where row 0 has 40 and 64 bytes on columns 0 and 1, row 1 has 48
// and 64.

#include "../Runtime/PlanFixture.h"

#include "etc/Verify/PlanCertificates.h"

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
