//===- Coalesce.cpp - A chain of migrations becomes one -------------------===//

#include "etc/Analysis/Fragments.h"
#include "etc/Transforms/Passes.h"
#include "etc/Verify/Stages.h"

#include "mlir/Pass/PassManager.h"

namespace etc {
#define GEN_PASS_DEF_COALESCEPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
struct Coalesce : ::etc::impl::CoalescePassBase<Coalesce> {
  void runOnOperation() override;
  LogicalResult compose(ArrayRef<MigrationOp> links, MigrationOp whole);
};
} // namespace

/// Each link is planned as far as the whole will be, and begins where the one
/// before it ends.
static LogicalResult checkLinks(const PassStages &row,
                                ArrayRef<MigrationOp> links) {
  for (MigrationOp link : links)
    if (failed(checkBefore(row, link)))
      return failure();
  for (size_t number = 1; number < links.size(); ++number) {
    MigrationOp first = links[number - 1], second = links[number];
    if (second.getPrev() == first.getCurr() &&
        ArrayRef<int64_t>(second.getPrevPlacement()) ==
            first.getOnly<PlacementOp>().getDevices())
      continue;
    InFlightDiagnostic diag =
        second.emitError() << "expected to begin with " << first.getCurr().str()
                           << " on the devices where the migration before "
                              "places it";
    diag.attachNote(first.getLoc()) << "that migration is here";
    return diag;
  }
  return success();
}

/// The whole has the ends of the chain, and nothing is decided yet.
static LogicalResult checkWhole(ArrayRef<MigrationOp> links,
                                MigrationOp whole) {
  MigrationOp first = links.front(), last = links.back();
  if (whole.getStage() != Stage::Request || whole.getCurrDevices())
    return whole.emitError() << "expected the migration that a chain becomes: "
                                "at the stage 'request', without devices of "
                                "the current ranks";
  if (whole.getPrev() == first.getPrev() && whole.getCurr() == last.getCurr() &&
      whole.getPrevPlacement() == first.getPrevPlacement() &&
      whole.getNodes() == last.getNodes())
    return success();
  return whole.emitError() << "expected the ends of its chain, "
                           << first.getPrev().str() << " to "
                           << last.getCurr().str() << ", on the same devices";
}

/// Bytes that devices lack.
static uint64_t countLacking(MigrationOp migration) {
  const TensorTable table(migration);
  uint64_t bytes = 0;
  migration.walk([&](DemandOp demand) {
    bytes += uint64_t(readFragment(demand, table).bytes) *
             demand.getDevices().size();
  });
  return bytes;
}

LogicalResult Coalesce::compose(ArrayRef<MigrationOp> links,
                                MigrationOp whole) {
  const PassStages &row = *findStages(getArgument());
  if (failed(checkLinks(row, links)) || failed(checkWhole(links, whole)))
    return failure();
  // Where the chain ends is decided; how state gets there is not.
  MigrationOp last = links.back();
  whole.setCurrDevices(last.getOnly<PlacementOp>().getDevices());
  OpPassManager passes(MigrationOp::getOperationName());
  buildDemandsPipeline(passes, {});
  if (failed(runPipeline(passes, whole)))
    return failure();
  whole.setStage(row.leaves);
  composed += countLacking(whole);
  for (MigrationOp link : links) {
    oneByOne += countLacking(link);
    link.erase();
  }
  return success();
}

void Coalesce::runOnOperation() {
  const auto migrations = llvm::to_vector(getOperation().getOps<MigrationOp>());
  const ArrayRef<MigrationOp> all = migrations;
  if (all.size() < 3) {
    getOperation().emitError()
        << getArgument()
        << ": expected a chain of two migrations or more and, last, the one "
           "that it becomes, got "
        << all.size();
    return signalPassFailure();
  }
  if (failed(compose(all.drop_back(), all.back())))
    signalPassFailure();
}
