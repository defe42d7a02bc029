//===- ChunksAlikeTest.cpp - Chunks of one size do the same ---------------===//
//
// What is found out about one chunk is taken for others: here it is found out
// about each.
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/CutFlows.h"

#include "etc/Import/Import.h"
#include "etc/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace etc;
using namespace mlir;

namespace {

struct CheckUnits : PassWrapper<CheckUnits, OperationPass<MigrationOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckUnits)
  explicit CheckUnits(int64_t &shared) : shared(shared) {}

  void runOnOperation() override {
    const auto &flows = getAnalysis<ProgramFlows>();
    for (const int64_t portions : {1, 7, 64, 384})
      check(flows, portions);
  }

private:
  void check(const ProgramFlows &flows, int64_t portions);

  int64_t &shared; ///< units that are not the first of their kind
};

rounds::Touch touchOf(const ProgramFlows &flows, const ItemFlow &flow,
                      const Portion &portion) {
  const int64_t size = flows.getTable().getTypeBytes(portion.type);
  return {static_cast<int32_t>(flow.program),
          (flow.getAllocated(portion) + flow.getArrived(portion)) * size,
          (flow.getReleased(portion) + flow.getPassedOn(portion)) * size,
          flow.getSent(portion) * size, flow.getReceived(portion) * size};
}

void CheckUnits::check(const ProgramFlows &flows, int64_t portions) {
  const ItemKinds kinds(flows);
  const CutFlows cut =
      FlowCutter(flows, kinds, /*parts=*/4)
          .cut(rounds::shareMemory({true, 1'050'000}, totalsOf(flows), 8,
                                   portions));
  const std::vector<unsigned> firsts =
      findFirstsAlike(flows, cut.chunks, kinds);
  for (auto [unit, chunk] : llvm::enumerate(cut.chunks)) {
    const Chunk &first = cut.chunks[firsts[unit]];
    shared += firsts[unit] != unit;
    ArrayRef<ItemFlow> its = flows.getFlows(chunk.item);
    for (auto [number, flow] : llvm::enumerate(its)) {
      EXPECT_EQ(cut.problem.units[unit].touches[number],
                touchOf(flows, flow, chunk.portion));
      for (auto [step, other] : llvm::zip_equal(
               flow.steps, flows.getFlows(first.item)[number].steps))
        if (step.isTransfer()) {
          EXPECT_EQ(elementsOf(step, chunk.portion),
                    elementsOf(other, first.portion));
        }
    }
  }
}

class ChunksAlikeTest : public testing::TestWithParam<const char *> {};

TEST_P(ChunksAlikeTest, DoTheSame) {
  const request::Request request =
      llvm::cantFail(request::parseRequest(GetParam(), "request"));
  llvm::cantFail(request::checkRequest(request));
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = importRequest(context, request);
  int64_t shared = 0;
  PassManager passes(&context);
  OpPassManager &migration = passes.nest<MigrationOp>();
  buildDemandsPipeline(migration, {});
  RoutePassOptions byTime;
  byTime.byTime = true;
  migration.addPass(createRoutePass(byTime));
  migration.addPass(std::make_unique<CheckUnits>(shared));
  EXPECT_TRUE(succeeded(passes.run(*module)));
  EXPECT_GT(shared, 0);
}

constexpr const char *requests[] = {
    R"({"model": "gpt2", "prev": "PP4TP2", "curr": "PP2TP4", "cluster": "2x4"})",
    R"({"model": "gpt2", "prev": "TP2", "curr": "TP2DP4", "cluster": "2x4"})",
    R"({"model": "gpt2", "prev": "PP2DP2+zero1", "curr": "PP4DP3+zero1",
        "cluster": "3x4", "derive": "none"})",
    R"({"model": "gpt2", "prev": "PP2DP2+zero1", "curr": "PP4DP3+zero1",
        "cluster": "3x4"})",
    R"({"model": "gpt2", "prev": "PP2TP2", "curr": "PP4DP2", "cluster": "2x4",
        "defer": "optimizer"})",
};

INSTANTIATE_TEST_SUITE_P(All, ChunksAlikeTest, testing::ValuesIn(requests));

} // namespace
