// Random instances: every solver's solution is valid, none keeps more than the
// most, and the assignments bound what is kept. ETC_PROPERTY_COUNT and
// ETC_PROPERTY_SEED choose others.

#include "../Environment.h"
#include "Cases.h"
#include "etc/Optimize/Placement/Bound.h"
#include "etc/Optimize/Placement/Solver.h"

#include <gtest/gtest.h>

#include <iostream>

namespace etc::placement {
namespace {

/// How far the solver is from the most, under Tp and Pack.
struct Distance {
  int best = 0, less = 0; ///< instances
  int missed = 0;         ///< where it finds none and there is one
  int infeasible = 0;

  void print() const {
    std::cout << "groups on nodes: the most is kept in " << best << ", less in "
              << less << ", a placement is missed in " << missed
              << "; infeasible in " << infeasible << "\n";
  }
};

/// Whether all nodes are just as large as a group: nothing is left to choose
/// but which group takes which node.
bool areNodesGroups(const Problem &problem) {
  std::vector<int64_t> usable(problem.nodeClass.size());
  for (const Device &device : problem.devices)
    usable[size_t(device.node)] += device.status == Status::Usable;
  for (int64_t count : usable)
    if (count != problem.groupSize && count != 0)
      return false;
  return true;
}

/// Tensor-parallel groups may be split at will only where the solver says so.
bool areGroupsWhole(const Problem &problem) {
  return fitGroups(problem).isWithinNode;
}

void checkBounds(const Problem &problem, const Solution &solution) {
  std::vector<int64_t> holders(size_t(problem.onDevice.getColumns())),
      members(size_t(problem.onNode.getColumns()));
  for (const Device &device : problem.devices) {
    if (device.status != Status::Usable)
      continue;
    ++members[size_t(problem.nodeClass[size_t(device.node)])];
    if (device.prevRole >= 0)
      ++holders[size_t(device.prevRole)];
  }
  const auto bound = [&](const BenefitTable &table, std::vector<int64_t> list) {
    const assignment::GroupedProblem posed =
        poseBound(table, problem.replicas, std::move(list));
    EXPECT_EQ(posed.check(), std::nullopt);
    return posed.solve().solution.total.device;
  };
  const assignment::Weight most = problem.weigh(
      bound(problem.onNode, members), bound(problem.onDevice, holders));
  EXPECT_LE(solution.kept.node, most.node);
  EXPECT_LE(solution.kept.device, most.device);
  if (problem.policy == Policy::Any) {
    EXPECT_EQ(solution.kept.node, most.node) << "what counts first";
  }
}

void checkSolvers(const Problem &problem, Distance &distance) {
  ASSERT_EQ(check(problem), std::nullopt);
  const std::optional<Solution> exact = solveExact(problem),
                                found = solve(problem);
  if (!exact) {
    EXPECT_FALSE(found);
    ++distance.infeasible;
    return;
  }
  EXPECT_EQ(verify(problem, *exact), std::nullopt);
  if (!found) {
    EXPECT_NE(problem.policy, Policy::Any);
    EXPECT_FALSE(areGroupsWhole(problem));
    ++distance.missed;
    return;
  }
  EXPECT_EQ(verify(problem, *found), std::nullopt);
  checkBounds(problem, *found);
  EXPECT_LE(found->kept, exact->kept);
  if (problem.policy == Policy::Any || areNodesGroups(problem))
    EXPECT_EQ(found->kept, exact->kept);
  else
    ++(found->kept == exact->kept ? distance.best : distance.less);
}

TEST(PropertyTest, RandomInstances) {
  const uint64_t first = etc::testing::fromEnvironment("ETC_PROPERTY_SEED", 1),
                 count =
                     etc::testing::fromEnvironment("ETC_PROPERTY_COUNT", 2000);
  Distance distance;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Problem problem = testing::randomProblem(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" +
                 testing::writeCase(problem));
    checkSolvers(problem, distance);
    if (::testing::Test::HasFailure())
      return;
  }
  distance.print();
}

TEST(PropertyTest, TheSameTwice) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const Problem problem = testing::randomProblem(seed);
    EXPECT_EQ(solve(problem), solve(problem)) << seed;
  }
}

TEST(PropertyTest, TextIsReadBack) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const Problem problem = testing::randomProblem(seed);
    EXPECT_EQ(testing::readCase(testing::writeCase(problem)).problem, problem)
        << seed;
  }
}

} // namespace
} // namespace etc::placement
