//===- FragmentsTest.cpp - Fragments as demands and back ------------------===//

#include "etc/Analysis/Fragments.h"

#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <random>

using namespace etc;
using namespace mlir;

namespace {
constexpr int64_t layers = 3, rows = 12, columns = 5;

/// Tensors that join side by side, and flat ones, which do not.
constexpr StringLiteral request = R"(
etc.migration @m TP2 to TP3 nodes [3] layers 3 types [param : bf16, master : f32] {
  etc.tensor "decoder.layers.{layer}.a" in layer [12, 5] split 0
  etc.tensor "decoder.layers.{layer}.b" in layer [12, 5] split 0 flat
  etc.tensor "decoder.layers.{layer}.c" in layer [12, 5]
  etc.demands {
  }
}
)";

class FragmentsTest : public testing::Test {
protected:
  FragmentsTest() {
    context.loadDialect<EtcDialect>();
    module = parseSourceString<ModuleOp>(request, &context);
    migration = *module->getOps<MigrationOp>().begin();
  }

  /// What is left of a fragment once it was written down and read again.
  Fragment writeAndRead(const Fragment &fragment, const TensorTable &table) {
    auto list = migration.getOnly<DemandsOp>();
    OpBuilder builder = OpBuilder::atBlockEnd(&list.getBody().front());
    auto op = DemandOp::create(
        builder, migration.getLoc(), foldInOrder(fragment, table),
        table.getTypeNames(fragment.types), ArrayRef<int64_t>{2},
        builder.getArrayAttr(migration.getPrev().getPool(1)));
    Fragment read = readFragment(op, table);
    op.erase();
    return read;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  MigrationOp migration;
};
} // namespace

/// Boxes of one tensor of a layer that do not overlap, in any order.
static std::vector<Piece> drawBoxes(std::mt19937 &random, unsigned tensor,
                                    int64_t layer) {
  auto drawCuts = [&](int64_t extent) {
    std::vector<int64_t> cuts = {0, extent};
    for (int64_t place = 1; place < extent; ++place)
      if (random() % 4 == 0)
        cuts.push_back(place);
    llvm::sort(cuts);
    return cuts;
  };
  const std::vector<int64_t> outer = drawCuts(rows), inner = drawCuts(columns);
  std::vector<Piece> boxes;
  for (size_t i = 0; i + 1 < outer.size(); ++i)
    for (size_t j = 0; j + 1 < inner.size(); ++j)
      if (random() % 3)
        boxes.push_back({tensor,
                         layer,
                         0,
                         {0, 1},
                         {outer[i], outer[i + 1]},
                         {inner[j], inner[j + 1]}});
  std::shuffle(boxes.begin(), boxes.end(), random);
  return boxes;
}

// Where a fragment is cut depends on the order of its pieces and on what is one
// piece, so a demand keeps both.
TEST_F(FragmentsTest, DemandsKeepPiecesAndTheirOrder) {
  const TensorTable table(migration);
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Fragment fragment;
    fragment.types.resize(2);
    fragment.types.set(1);
    fragment.holders = {{true, 1}};
    fragment.unit = 4;
    fragment.bytes = 0;
    for (unsigned tensor = 0; tensor < 3; ++tensor)
      for (int64_t layer = 0; layer < layers; ++layer)
        for (const Piece &box : drawBoxes(random, tensor, layer)) {
          fragment.pieces.push_back(box);
          fragment.bytes += 4 * box.size();
        }
    if (fragment.pieces.empty())
      continue;
    const Fragment read = writeAndRead(fragment, table);
    ASSERT_TRUE(read.pieces == fragment.pieces) << "seed " << seed;
    EXPECT_EQ(read.bytes, fragment.bytes) << "seed " << seed;
    EXPECT_EQ(read.unit, fragment.unit);
    EXPECT_TRUE(read.holders == fragment.holders);
  }
}

TEST_F(FragmentsTest, WholeTensorsAreOneId) {
  const TensorTable table(migration);
  Fragment fragment;
  fragment.types.resize(2, true);
  for (unsigned tensor = 0; tensor < 3; ++tensor)
    for (int64_t layer = 0; layer < layers; ++layer)
      fragment.pieces.push_back(table.getWhole(tensor, layer, 0, Side::Curr));
  EXPECT_EQ(foldInOrder(fragment, table).size(), 1u);
}
