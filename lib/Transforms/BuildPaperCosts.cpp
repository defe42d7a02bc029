//===- BuildPaperCosts.cpp - The paper's cost matrices, in the IR ---------===//

#include "PaperCosts.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace etc {
#define GEN_PASS_DEF_BUILDPAPERCOSTSPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
struct BuildPaperCosts : ::etc::impl::BuildPaperCostsPassBase<BuildPaperCosts> {
  void runOnOperation() override {
    MigrationOp migration = getOperation();
    if (!isPaperForm(migration)) {
      migration.emitError(
          "the paper's method is defined for PP, TP and DP, even stages and no "
          "distributed optimizer; use policy best for anything else");
      return signalPassFailure();
    }
    OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
    PaperMatrix pipeline = buildPipelineCosts(migration),
                tensor = buildTensorCosts(migration);
    PaperMatrix merged = mergeCosts(pipeline, tensor);
    for (auto [unit, matrix] :
         {std::pair(CostUnit::Pp, &pipeline), std::pair(CostUnit::Tp, &tensor),
          std::pair(CostUnit::Merged, &merged)})
      CostMatrixOp::create(builder, migration.getLoc(), unit,
                           MatrixAttr::get(&getContext(), matrix->rows,
                                           matrix->columns, matrix->costs));
  }
};
} // namespace
