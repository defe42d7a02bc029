//===- PlanRoleBoundTest.cpp - Bounds over all roles in plan files --------===//
//
// Planned files are accepted. What a mutation makes of them is refused by the
// proof alone: the planner's IR is not at hand.
//
//===----------------------------------------------------------------------===//

#include "BoundariesFixture.h"

#include "core/plan/Referee.h"
#include "core/proof/PlanCertificates.h"

#include <random>

using namespace etc;
using namespace etc::test;
namespace fb = etc::plan::fb;

namespace {

constexpr unsigned kMutations = 120; // of each file

/// Each has a bound; between them they have all witnesses and levels.
const Options requests[] = {
    smallRequest("PP2", "PP2DP3", "3x2"),
    smallRequest("PP2", "PP4", "1x4"),
    smallRequest("PP4TP2", "PP2TP2", "4x2"),
    smallRequest("PP2TP2", "PP2TP2DP2", "2x4@paper-cluster-b"),
    smallRequest("PP2TP2", "PP4TP1DP2", "2x4"),
    smallRequest("DP2+zero1", "DP4+zero1", "2x2", {{"place", "any"}}),
    smallRequest("PP4TP2", "PP4TP2DP2", "6x4@paper-cluster-a",
                 {{"place", "tp"}}),
    smallRequest("PP2TP4", "PP2TP2DP2", "4x4", {{"draining", "0,1,2,3"}}),
    smallRequest("PP2DP4", "PP2DP3", "4x2", {{"failed", "0,1"}}),
};

class PlanRoleBound : public Boundaries,
                      public testing::WithParamInterface<Options> {
protected:
  void SetUp() override {
    plan(GetParam());
    if (!HasFatalFailure())
      fb::GetPlan(planned.plans.front().data())->UnPackTo(&file);
    ASSERT_NE(file.role_bound, nullptr);
  }

  /// What is said about the file with another bound; "" is approval.
  std::string verdict(const fb::RoleBoundT &bound) {
    fb::PlanT other(file);
    other.role_bound = std::make_unique<fb::RoleBoundT>(bound);
    const std::vector<uint8_t> bytes = plan::packPlan(std::move(other));
    plan::Status status = plan::checkPlanBytes(bytes);
    if (!status.ok())
      return status.message();
    const plan::PlanIndex index(*fb::GetPlan(bytes.data()));
    status = plan::checkPlan(index);
    return status.ok() ? verifyCertificates(index).message() : status.message();
  }

  uint64_t pick(uint64_t count) { return generator() % count; }
  uint64_t shift(uint64_t value);
  fb::RoleBoundT mutate();

  fb::PlanT file;
  std::mt19937_64 generator{1};
};

/// Another number, near or far.
uint64_t PlanRoleBound::shift(uint64_t value) {
  const uint64_t others[] = {value + 1, value - 1, value + 2 + pick(999),
                             2 * value, value / 2};
  const uint64_t other = others[pick(std::size(others))];
  return other == value || other == UINT64_MAX ? value + 1 : other;
}

fb::RoleBoundT PlanRoleBound::mutate() {
  fb::RoleBoundT bound(*file.role_bound);
  const bool hasDuals = !bound.row_duals.empty();
  for (;;)
    switch (pick(6)) {
    case 0:
      bound.bytes = shift(bound.bytes);
      return bound;
    case 1:
      bound.rate = shift(bound.rate);
      return bound;
    case 2:
      bound.of_nodes = !bound.of_nodes;
      return bound;
    case 3:
      if (bound.inside.size() == 1)
        continue;
      bound.inside.erase(bound.inside.begin() + pick(bound.inside.size()));
      return bound;
    default:
      if (!hasDuals)
        continue;
      uint64_t &dual = bound.row_duals[pick(bound.row_duals.size())];
      dual = pick(10) ? shift(dual) : UINT64_MAX;
      return bound;
    }
}

TEST_P(PlanRoleBound, IsProvedByTheFileAlone) {
  EXPECT_EQ(verdict(*file.role_bound), "");
}

TEST_P(PlanRoleBound, EachMutationIsRefused) {
  for (unsigned i = 0; i != kMutations; ++i) {
    const fb::RoleBoundT bound = mutate();
    EXPECT_NE(verdict(bound), "") << "mutation " << i << ": " << bound.bytes
                                  << " bytes at " << bound.rate;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlanRoleBound, testing::ValuesIn(requests),
                         [](const auto &info) {
                           return "Request" + std::to_string(info.index);
                         });

class PlanRoleBoundPlace : public PlanRoleBound {};

// Four groups of two need two nodes of four. Anywhere, they may be on four.
TEST_P(PlanRoleBoundPlace, OnlyTheRolesThatItStates) {
  ASSERT_EQ(file.role_bound->place, fb::Place::pack);
  fb::RoleBoundT bound(*file.role_bound);
  bound.place = fb::Place::any;
  EXPECT_NE(verdict(bound), "");
}

// A bound on fewer nodes can be above the time of a plan on more.
TEST_P(PlanRoleBoundPlace, NoPlanOfAnotherPlaceHasIt) {
  const fb::RoleBoundT ofPack(*file.role_bound);
  Options anywhere = GetParam();
  anywhere["place"] = "any";
  plan(anywhere);
  file = {};
  fb::GetPlan(planned.plans.front().data())->UnPackTo(&file);
  EXPECT_EQ(verdict(ofPack), "role_bound: is of roles on at most 2 nodes; in "
                             "the plan, they are on 4");
}

INSTANTIATE_TEST_SUITE_P(Pack, PlanRoleBoundPlace,
                         testing::Values(smallRequest("PP6TP4", "PP4TP2",
                                                      "6x4@paper-cluster-a",
                                                      {{"layers", "12"}})));

} // namespace
