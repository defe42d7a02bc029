//===- TwoStage.cpp - Migration and de-fragmentation as a chain -----------===//

#include "PaperSketch.h"
#include "dialect/ModelName.h"
#include "etc/Transforms/Passes.h"
#include "etc/Verify/Stages.h"

#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"

namespace etc {
#define GEN_PASS_DEF_TWOSTAGEPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
struct TwoStage : ::etc::impl::TwoStagePassBase<TwoStage> {
  void runOnOperation() override;
  LogicalResult appendSecond(MigrationOp first);
};
} // namespace

/// The model as the first stage leaves it: current shapes on both sides, and
/// what the current side has.
static void createTensors(OpBuilder &builder, MigrationOp first) {
  bool hasCopies = first.getCurr().getPp() > 1;
  for (TensorOp tensor : first.getOps<TensorOp>()) {
    if (tensor.getTiedTo() && !hasCopies)
      continue;
    auto copy = cast<TensorOp>(builder.clone(*tensor));
    copy.removePrevShapeAttr();
  }
}

/// The second stage in the request stage: from where the sketch puts the ranks
/// to where Algorithm 2 wants them.
static MigrationOp createSecond(OpBuilder &builder, MigrationOp first,
                                StringRef symbol, ArrayRef<int64_t> from,
                                ArrayRef<int64_t> to) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(first);
  auto second = cast<MigrationOp>(builder.cloneWithoutRegions(*first));
  setSymbolOfModel(second, symbol);
  second.setPrevAttr(first.getCurr());
  second.setPrevDevices(from);
  second.setCurrDevices(to);
  second.setStage(Stage::Request);
  builder.setInsertionPointToEnd(&second.getBody().emplaceBlock());
  createTensors(builder, first);
  return second;
}

LogicalResult TwoStage::appendSecond(MigrationOp first) {
  const PassStages &row = *findStages(getArgument());
  if (failed(checkBefore(row, first)))
    return failure();
  const std::string symbol = (first.getSymName() + ".defragment").str();
  if (Operation *other = SymbolTable(getOperation()).lookup(symbol)) {
    InFlightDiagnostic diag = first.emitError()
                              << getArgument() << " adds a migration '@"
                              << symbol << "', which the module has already";
    diag.attachNote(other->getLoc()) << "rename or remove this one";
    return diag;
  }
  SmallVector<int64_t> from(first.getOnly<PlacementOp>().getDevices());
  SmallVector<int64_t> to = from;
  if (!first.getCurrDevices())
    to = defragment(first, Devices(first), from);
  OpBuilder builder(&getContext());
  MigrationOp second = createSecond(builder, first, symbol, from, to);
  // The first stage has its placement; the second catches up with it.
  OpPassManager passes(MigrationOp::getOperationName());
  passes.addPass(createBuildWorkloadsPass());
  passes.addPass(createBuildCostMatrixPass());
  passes.addPass(createSolveAssignmentPass());
  passes.addPass(createDefragmentPass());
  if (failed(runPipeline(passes, second)))
    return failure();
  first.setStage(row.leaves);
  second.setStage(row.leaves);
  return success();
}

void TwoStage::runOnOperation() {
  for (MigrationOp first :
       llvm::to_vector(getOperation().getOps<MigrationOp>()))
    if (failed(appendSecond(first)))
      return signalPassFailure();
}
