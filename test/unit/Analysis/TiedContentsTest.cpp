//===- TiedContentsTest.cpp - Tied tensors as the bytes that they are -----===//

#include "etc/Analysis/TiedContents.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace etc;
using namespace mlir;

namespace {
using Listed = std::tuple<std::vector<int32_t>, std::vector<int32_t>, int64_t>;

class TiedContentsTest : public testing::Test {
protected:
  TiedContentsTest() { context.loadDialect<EtcDialect>(); }

  std::vector<Listed> list(StringRef text) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ModuleAnalysisManager all(*module, /*passInstrumentor=*/nullptr);
    AnalysisManager manager = all;
    auto migration = *module->getOps<MigrationOp>().begin();
    AnalysisManager its = manager.nest(migration);
    const auto &table = its.getAnalysis<TensorTable, MigrationOp>();
    contents =
        listTiedContents(table, its.getAnalysis<BothHoldings, MigrationOp>(),
                         its.getAnalysis<Devices, MigrationOp>(),
                         its.getAnalysis<DeviceNeeds, MigrationOp>(),
                         llvm::SmallBitVector(table.getTypeCount(), true));
    std::vector<Listed> listed;
    for (const auto &[holders, needers, bytes] : contents.list)
      listed.emplace_back(holders, needers, bytes);
    return listed;
  }

  TiedContents contents;

private:
  MLIRContext context;
};
} // namespace

/// A device that needs both twins lacks one content, which the holders of
/// either have; a device that has a twin lacks nothing.
TEST_F(TiedContentsTest, CountsTwinsOnce) {
  EXPECT_EQ(list(R"(
etc.migration @m PP2 to DP2 nodes [2, 1] layers 2 types [master : f32] stage placement {
  etc.tensor "embedding.weight" in embed [4, 2] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.tensor "output.weight" in head [4, 2] split 0 tied_to "embedding.weight"
  etc.workload prev P0T0 [embed, L0]
  etc.workload prev P1T0 [L1, head]
  etc.workload curr P0T0 [embed, L0..1, head]
  etc.placement [1, 2]
}
)"),
            (std::vector<Listed>{{{0, 1}, {2}, 32}}));
  EXPECT_TRUE(contents.tensors.test(0) && contents.tensors.test(2));
  EXPECT_FALSE(contents.tensors.test(1));
}

/// Twins are cut where any holder or needer of either has a border.
TEST_F(TiedContentsTest, CutsAtAllBorders) {
  EXPECT_EQ(
      list(R"(
etc.migration @m TP2 to PP2TP3 nodes [6] layers 2 types [master : f32] stage placement {
  etc.tensor "embedding.weight" in embed [6, 2] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.tensor "output.weight" in head [6, 2] split 0 tied_to "embedding.weight"
  etc.workload prev P0T0 [embed.a, embed.b, embed.c, L0..1]
  etc.workload prev P0T1 [embed.d, embed.e, embed.f, L0..1]
  etc.workload curr P0T0 [embed.a, embed.b, L0]
  etc.workload curr P0T1 [embed.c, embed.d, L0]
  etc.workload curr P0T2 [embed.e, embed.f, L0]
  etc.workload curr P1T0 [L1, head.a, head.b]
  etc.workload curr P1T1 [L1, head.c, head.d]
  etc.workload curr P1T2 [L1, head.e, head.f]
  etc.placement [0, 1, 2, 3, 4, 5]
}
)"),
      (std::vector<Listed>{
          {{0}, {1, 4}, 8}, {{0}, {3}, 16}, {{1}, {2, 5}, 16}, {{1}, {4}, 8}}));
}

TEST_F(TiedContentsTest, ListsNothingWithoutTwins) {
  EXPECT_TRUE(list(R"(
etc.migration @m DP1 to DP2 nodes [2] layers 1 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [0, 1]
}
)")
                  .empty());
  EXPECT_TRUE(contents.tensors.none());
}
