//===- TimeFloorTest.cpp - No rounds are faster than they can be ----------===//
//
// Where the floor is above what rounds take, they are not tried, and plans are
// slower than they could be: nothing else would tell.
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/TimeFloor.h"

#include "etc/Import/Import.h"
#include "etc/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace etc;
using namespace mlir;

namespace {

constexpr rounds::Budget budget = {true, 1'050'000};

/// What rounds of some portions cost, and their floor.
struct Costs {
  int64_t portions;
  double floor, found;
};

struct FindCosts : PassWrapper<FindCosts, OperationPass<MigrationOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FindCosts)

  explicit FindCosts(std::vector<Costs> &costs) : costs(costs) {}
  void runOnOperation() override;

private:
  std::vector<Costs> &costs;
};

void FindCosts::runOnOperation() {
  const auto &flows = getAnalysis<ProgramFlows>();
  const RoundTimes times(getOperation().getResourcesAttr(), flows,
                         getAnalysis<DevicePrograms>().getPrograms(),
                         getAnalysis<Devices>(), getAnalysis<BothHoldings>());
  const std::vector<rounds::ClassTotals> totals = totalsOf(flows);
  const TimeFloor floor(times, totals);
  for (const int64_t parts : {2, 4})
    for (const int64_t portions : {2, 7, 32, 100, 384}) {
      FlowCutter cutter(flows, times.getRates().getKinds(), parts);
      const rounds::Found found = rounds::findWithin(
          budget, totals,
          [&](std::vector<rounds::ClassMemory> memory) {
            return cutter.cut(std::move(memory)).problem;
          },
          portions);
      costs.push_back(
          {portions, floor.findCost(portions, parts),
           times.secondsOf(found.solution, cutter.cut(found.memory).chunks)
               .getCost()});
    }
}

/// Of rounds of several portions.
std::vector<Costs> findCosts(StringRef json) {
  const request::Request request =
      llvm::cantFail(request::parseRequest(json, "request"));
  llvm::cantFail(request::checkRequest(request));
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = importRequest(context, request);
  std::vector<Costs> costs;
  PassManager passes(&context);
  OpPassManager &migration = passes.nest<MigrationOp>();
  buildDemandsPipeline(migration, {});
  RoutePassOptions byTime;
  byTime.byTime = true;
  migration.addPass(createRoutePass(byTime));
  migration.addPass(std::make_unique<FindCosts>(costs));
  EXPECT_TRUE(succeeded(passes.run(*module)));
  return costs;
}

/// The request, its floors as a share of what rounds of 384 portions take.
struct Case {
  const char *name, *request;
  double share;
};

class TimeFloorTest : public testing::TestWithParam<Case> {};

TEST_P(TimeFloorTest, IsBelowWhatRoundsTake) {
  const std::vector<Costs> all = findCosts(GetParam().request);
  ASSERT_EQ(all.size(), 10u);
  for (const Costs &it : all)
    EXPECT_LE((1 - 1e-6) * it.floor, it.found) << it.portions << " portions";
  for (auto [it, next] : llvm::zip(all, ArrayRef(all).drop_front()))
    if (it.portions < next.portions) {
      EXPECT_LE(it.floor, next.floor) << next.portions << " portions";
    }
  EXPECT_GE(all.back().floor, GetParam().share * all.back().found);
}

constexpr Case cases[] = {
    {"paper",
     R"({"model": "gpt3-paper", "prev": "PP4TP2", "curr": "PP4TP4",
         "cluster": "4x4"})",
     0.8},
    {"sharedNics",
     R"({"model": "gpt3-paper", "prev": "PP4TP2", "curr": "PP4TP4",
         "cluster": "4x4@paper-cluster-a"})",
     0.2},
    {"relays",
     R"({"model": "gpt2", "prev": "TP2", "curr": "TP2DP4", "cluster": "2x4"})",
     0.2},
    {"deferred",
     R"({"model": "gpt2", "prev": "PP2TP2", "curr": "PP4DP2", "cluster": "2x4",
         "defer": "optimizer"})",
     0.2},
    // Tensors have fewer positions than chunks.
    {"fewPositions",
     R"({"model": {"family": "gpt", "layers": 4, "hidden": 8, "heads": 2,
                   "vocab": 9, "seq": 3}, "prev": "PP2TP2", "curr": "PP4",
         "cluster": "2x4"})",
     0.05},
    {"sharded",
     R"({"model": "gpt2", "prev": "PP2DP2+zero1", "curr": "PP4DP2+zero1",
         "cluster": "2x4"})",
     0.2},
};

INSTANTIATE_TEST_SUITE_P(All, TimeFloorTest, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

} // namespace
