//===- PlanTimeBoundTest.cpp - Bounds and placements in plan files --------===//
//
// Planned files are accepted. What a mutation makes of a bound of time, of the
// certificates or of the placement is refused by the file alone, or is a bound
// that the plan itself does not go below.
//
//===----------------------------------------------------------------------===//

#include "BoundariesFixture.h"

#include "core/plan/Configuration.h"
#include "core/plan/Referee.h"
#include "core/proof/PlanCertificates.h"
#include "view/simulate/PlanTime.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace etc;
using namespace etc::test;
namespace fb = etc::plan::fb;

namespace {

constexpr unsigned kMutations = 150; // of each file

const Options requests[] = {
    smallRequest("PP2", "PP2DP3", "3x2"),
    smallRequest("PP4TP2", "PP2TP2", "4x2"),
    smallRequest("PP2TP2", "PP2TP2DP2", "2x4@paper-cluster-b"),
    smallRequest("PP2TP2", "PP4TP1DP2", "2x4"),
    smallRequest("DP2+zero1", "DP4+zero1", "2x2", {{"place", "any"}}),
    smallRequest("PP4TP2", "PP4TP2DP2", "6x4@paper-cluster-a",
                 {{"place", "tp"}}),
    smallRequest("PP2TP4", "PP2TP2DP2", "4x4", {{"draining", "0,1,2,3"}}),
    smallRequest("PP2DP4", "PP2DP3", "4x2", {{"failed", "0,1"}}),
    // With tolls.
    smallRequest("PP2TP2", "PP2", "3x2",
                 {{"place", "any"}, {"derive", "none"}}),
};

class PlanTimeBound : public Boundaries,
                      public testing::WithParamInterface<Options> {
protected:
  void SetUp() override {
    plan(GetParam());
    if (!HasFatalFailure())
      fb::GetPlan(planned.plans.front().data())->UnPackTo(&file);
    ASSERT_NE(file.time_bound, nullptr);
    ASSERT_FALSE(file.certificates.empty());
  }

  uint64_t pick(uint64_t count) { return generator() % count; }
  uint64_t shift(uint64_t value) {
    return std::max<uint64_t>(1, pick(2)
                                     ? value + 1 + pick(999)
                                     : value - std::min(value, 1 + pick(999)));
  }
  void toggle(std::vector<uint32_t> &list, uint32_t number);
  bool swapRoles(fb::PlanT &other);
  void raise(fb::PlanT &other);
  void mutateTolls(fb::PlanT &other);
  bool mutate(fb::PlanT &other);

  fb::PlanT file;
  std::mt19937_64 generator{1};
};

void PlanTimeBound::toggle(std::vector<uint32_t> &list, uint32_t number) {
  const auto it = std::lower_bound(list.begin(), list.end(), number);
  if (it != list.end() && *it == number)
    list.erase(it);
  else
    list.insert(it, number);
}

/// Two ranks that have different roles change places.
bool PlanTimeBound::swapRoles(fb::PlanT &other) {
  const fb::Configuration &curr =
      *fb::GetPlan(planned.plans.front().data())->curr();
  const auto one = static_cast<uint32_t>(pick(other.curr_placement.size())),
             two = static_cast<uint32_t>(pick(other.curr_placement.size()));
  std::swap(other.curr_placement[one], other.curr_placement[two]);
  return plan::roleOfRank(curr, one) != plan::roleOfRank(curr, two);
}

/// A lower dual, and the bound that it would prove.
void PlanTimeBound::raise(fb::PlanT &other) {
  fb::CertificateT &certificate =
      *other.certificates[pick(other.certificates.size())];
  uint64_t &dual = certificate.row_duals[pick(certificate.row_duals.size())];
  const uint64_t less = std::min(dual, 1 + pick(99)),
                 more = less *
                        plan::replicasOfRole(
                            *fb::GetPlan(planned.plans.front().data())->curr());
  dual -= less;
  certificate.bound += more + (more == 0);
  const bool isMoved = certificate.quantity == fb::Quantity::moved_bytes;
  (isMoved ? other.summary->bound_moved_bytes
           : other.summary->bound_internode_bytes) = certificate.bound;
  const uint64_t world = other.curr_placement.size();
  other.summary->bound_bottleneck_bytes =
      (other.summary->bound_moved_bytes + world - 1) / world;
}

/// One link or NIC takes a toll without a rate, or no longer does, at a rate
/// that says so.
void PlanTimeBound::mutateTolls(fb::PlanT &other) {
  fb::TimeBoundT &bound = *other.time_bound;
  std::vector<uint32_t> *const lists[] = {
      &bound.tolls->links_out, &bound.tolls->links_in, &bound.tolls->nics_out,
      &bound.tolls->nics_in};
  const uint64_t kind = pick(4);
  const size_t before = lists[kind]->size();
  toggle(*lists[kind], other.participants[pick(other.participants.size())]);
  if (lists[kind]->size() < before)
    bound.rate -=
        kind < 2 ? other.resources->link_rate : other.resources->nic_rate;
}

/// False where nothing changes.
bool PlanTimeBound::mutate(fb::PlanT &other) {
  fb::TimeBoundT &bound = *other.time_bound;
  const auto device = other.participants[pick(other.participants.size())];
  const uint64_t which = pick(8);
  if (bound.tolls && which >= 2 && which <= 4) {
    mutateTolls(other);
    return true;
  }
  switch (which) {
  case 0:
    bound.bytes = shift(bound.bytes);
    return true;
  case 1:
    bound.rate = shift(bound.rate);
    return true;
  case 2:
    bound.outgoing = !bound.outgoing;
    return true;
  case 3:
    toggle(bound.devices, device);
    return true;
  case 4:
    toggle(bound.inner, bound.devices[pick(bound.devices.size())]);
    other.features = bound.inner.empty() ? other.features & ~plan::kInnerFeature
                                         : other.features | plan::kInnerFeature;
    return true;
  case 5:
    other.certificates[pick(other.certificates.size())]->counted =
        fb::Counted::urgent;
    return true;
  case 6:
    return swapRoles(other);
  default:
    raise(other);
    return true;
  }
}

TEST_P(PlanTimeBound, MutationsAreRefused) {
  unsigned refused = 0, tried = 0;
  for (; tried != kMutations;) {
    fb::PlanT other(file);
    if (!mutate(other))
      continue;
    ++tried;
    const std::vector<uint8_t> bytes = plan::packPlan(std::move(other));
    plan::Status status = plan::checkPlanBytes(bytes);
    const plan::PlanIndex index(*fb::GetPlan(bytes.data()));
    if (status.ok())
      status = plan::checkPlan(index);
    if (status.ok())
      status = verifyCertificates(index);
    refused += !status.ok();
    if (!status.ok())
      continue;
    const auto time = runtime::timeOf(index);
    EXPECT_LE(time->boundSeconds, time->portSeconds * (1 + 1e-9));
    EXPECT_EQ(index.plan().summary()->bound_moved_bytes(),
              file.summary->bound_moved_bytes);
    EXPECT_EQ(index.plan().summary()->bound_internode_bytes(),
              file.summary->bound_internode_bytes);
  }
  EXPECT_GE(refused, 130u) << "of " << tried;
}

/// 16 384 NICs of 2^50 bytes a second come to 2^64.
TEST_P(PlanTimeBound, RatesThatDoNotFitAreRefused) {
  fb::PlanT other(file);
  if (!other.time_bound->tolls)
    return;
  fb::TollsT &tolls = *other.time_bound->tolls;
  other.resources->nic_rate = uint64_t{1} << 50;
  other.time_bound->rate = (tolls.links_out.size() + tolls.links_in.size()) *
                               other.resources->link_rate +
                           (tolls.nics_out.size() + tolls.nics_in.size()) *
                               other.resources->nic_rate;
  uint32_t devices =
      std::accumulate(other.nodes.begin(), other.nodes.end(), uint32_t{0});
  for (uint32_t i = 0; i != 1 << 14; ++i) {
    other.nodes.push_back(1);
    tolls.nics_in.push_back(devices++);
  }
  // What depends on the nodes, too.
  other.role_bound.reset();
  other.certificates.clear();
  other.summary->bound_moved_bytes = other.summary->bound_internode_bytes =
      other.summary->bound_bottleneck_bytes = 0;
  const std::vector<uint8_t> bytes = plan::packPlan(std::move(other));
  ASSERT_TRUE(plan::checkPlanBytes(bytes).ok())
      << plan::checkPlanBytes(bytes).message();
  const plan::Status status =
      verifyCertificates(plan::PlanIndex(*fb::GetPlan(bytes.data())));
  EXPECT_NE(status.message().find("time_bound.rate"), std::string::npos)
      << status.message();
}

INSTANTIATE_TEST_SUITE_P(All, PlanTimeBound, testing::ValuesIn(requests),
                         [](const auto &info) {
                           return "Request" + std::to_string(info.index);
                         });

} // namespace
