//===- Stages.cpp - The table of passes, and the stages they take ---------===//

#include "Contents.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc;
using namespace mlir;

/// In the order in which passes run. What `etc-defragment` reads besides the
/// pairs depends on its policy, and is checked by the pass.
static constexpr PassStages table[] = {
    // clang-format off
    {"etc-build-workloads", Stage::Request, Stage::Request, Stage::Workloads,
     Content::Tensors, Content::Workloads, true},
    {"etc-build-paper-costs", Stage::Workloads, Stage::Workloads, Stage::PaperCosts,
     Content::None, Content::PpCosts | Content::TpCosts | Content::MergedCosts, false},
    {"etc-build-cost-matrix", Stage::Workloads, Stage::PaperCosts, Stage::Costs,
     Content::Workloads, Content::UnitCosts | Content::ByteCosts, true},
    {"etc-solve-assignment", Stage::Costs, Stage::Costs, Stage::Sketch,
     Content::Workloads | Content::ByteCosts, Content::Pairs | Content::Certificates, true},
    {"etc-solve-paper-assignment", Stage::Sketch, Stage::Sketch, Stage::PaperSketch,
     Content::UnitCosts | Content::MergedCosts, Content::Pairs, false},
    {"etc-defragment", Stage::Sketch, Stage::PaperSketch, Stage::Placement,
     Content::Pairs, Content::Placement, true},
    {"etc-two-stage", Stage::Placement, Stage::Placement, Stage::Defragmented,
     Content::Placement, Content::None, false},
    {"etc-build-demands", Stage::Placement, Stage::Defragmented, Stage::Demands,
     Content::Workloads | Content::Placement, Content::Demands, true},
    {"etc-coalesce", Stage::Demands, Stage::Demands, Stage::Coalesced,
     Content::Placement | Content::Demands, Content::None, false},
    {"etc-route", Stage::Demands, Stage::Coalesced, Stage::Routed,
     Content::Demands, Content::Transfers, false},
    {"etc-schedule-chunks", Stage::Demands, Stage::Routed, Stage::Rounds,
     Content::Workloads | Content::Placement | Content::Moves, Content::Schedule, true},
    {"etc-lower-to-instructions", Stage::Rounds, Stage::Rounds, Stage::Instructions,
     Content::Workloads | Content::Placement | Content::Moves | Content::Schedule,
     Content::Programs | Content::Rounds, true},
    // It adds nothing, so a proof can be repeated.
    {"etc-verify-plan", Stage::Instructions, Stage::Proved, Stage::Proved,
     Content::Pairs | Content::Certificates | Content::Placement | Content::Rounds, Content::None, true},
    // clang-format on
};

const PassStages *etc::findStages(StringRef pass) {
  const PassStages *row = llvm::find_if(
      table, [&](const PassStages &row) { return row.pass == pass; });
  return row == std::end(table) ? nullptr : row;
}

StringRef etc::passThatAdds(Content content) {
  for (const PassStages &row : table)
    if ((row.adds & content) != Content::None)
      return row.pass;
  return {};
}

//===----------------------------------------------------------------------===//
// The stage
//===----------------------------------------------------------------------===//

static bool takes(const PassStages &row, Stage stage) {
  return row.takes <= stage && stage <= row.until;
}

/// Whether a pass is the one to run for some of what another reads.
static bool feeds(const PassStages &row, const PassStages &reader) {
  return passThatAdds(row.adds & reader.reads) == row.pass;
}

/// "etc-build-workloads, etc-build-cost-matrix": what leads from a stage to one
/// that the pass takes, with what it reads.
static std::string passesBetween(Stage stage, const PassStages &row) {
  std::string list;
  for (const PassStages &next : table) {
    if (takes(row, stage))
      break;
    if (!takes(next, stage) ||
        !(next.isNeeded || takes(row, next.leaves) || feeds(next, row)))
      continue;
    list += (list.empty() ? "" : ", ") + next.pass.str();
    stage = next.leaves;
  }
  return list;
}

static LogicalResult checkStage(const PassStages &row, MigrationOp migration) {
  Stage stage = migration.getStage();
  if (takes(row, stage))
    return success();
  InFlightDiagnostic diag = migration.emitError();
  if (stage < row.takes)
    return diag << row.pass << " takes the stage '" << stringifyStage(row.takes)
                << "', this is '" << stringifyStage(stage) << "'; run "
                << passesBetween(stage, row) << " first";
  diag << row.pass
       << (row.isNeeded || stage == row.leaves
               ? " has already run"
               : " is too late, or has already run");
  return diag << ": it takes the stage '" << stringifyStage(row.takes)
              << "', this is '" << stringifyStage(stage) << "'";
}

//===----------------------------------------------------------------------===//
// Before and after a pass
//===----------------------------------------------------------------------===//

LogicalResult etc::checkBefore(const PassStages &row, MigrationOp migration) {
  if (failed(checkStage(row, migration)) ||
      failed(checkPresent(row.reads, migration)))
    return failure();
  return checkAbsent(row.adds, row.pass, migration);
}

LogicalResult etc::checkAfter(const PassStages &row, MigrationOp migration) {
  return checkPresent(row.adds, migration);
}
