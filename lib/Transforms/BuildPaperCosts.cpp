//===- BuildPaperCosts.cpp - The paper's cost matrices, in the IR ---------===//

#include "PaperCosts.h"
#include "PaperSketch.h"
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
  LogicalResult runOnMigration(MigrationOp migration) override {
    if (!isPaperForm(migration))
      return migration.emitFieldError({"policy"})
             << "the paper's method is defined for PP, TP and DP, even stages "
                "and no distributed optimizer; use policy best for anything "
                "else";
    if (int64_t roles = std::max(migration.getPrev().getRoles(),
                                 migration.getCurr().getRoles());
        roles > paperMaxRoles)
      return migration.emitFieldError({"policy"})
             << "has " << roles
             << " roles (PP x TP) on a side; the paper's method is "
             << "for at most " << paperMaxRoles << ", policy best for more";
    OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
    PaperMatrix pipeline = buildPipelineCosts(migration),
                tensor = buildTensorCosts(migration);
    PaperMatrix merged = mergeCosts(pipeline, tensor);
    for (auto [unit, matrix] :
         {std::pair(CostUnit::Pp, &pipeline), std::pair(CostUnit::Tp, &tensor),
          std::pair(CostUnit::Merged, &merged)})
      CostMatrixOp::create(builder, migration.getFieldLoc({"curr"}), unit,
                           MatrixAttr::get(&getContext(), matrix->rows,
                                           matrix->columns, matrix->costs));
    return success();
  }
};
} // namespace
