//===- VerifyPlan.cpp - The rules, one after the other --------------------===//

#include "Rules.h"
#include "etc/Verify/Passes.h"

namespace etc {
#define GEN_PASS_DEF_VERIFYPLANPASS
#include "etc/Verify/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

PlanUnderTest::PlanUnderTest(MigrationOp migration)
    : migration(migration), table(migration), oracle(migration, table),
      programs(llvm::to_vector(migration.getOps<ProgramOp>())) {
  for (auto [node, count] : llvm::enumerate(migration.getNodes()))
    nodeOf.append(count, node);
  for (auto [index, program] : llvm::enumerate(programs))
    for (auto [place, device] :
         llvm::enumerate(ProgramOp(program).getDevices()))
      appearances.try_emplace(device,
                              Appearance{static_cast<unsigned>(index), place});
}

/// The rules of one program. Those that follow V3 take every element as written
/// once.
static LogicalResult checkProgram(const Replay &replay) {
  for (auto check :
       {checkLiveness, checkTransit, checkDerivations, checkCoverage,
        checkZeroes, checkDeferred, checkMemory, checkBudget})
    if (failed(check(replay)))
      return failure();
  return success();
}

static LogicalResult checkPlan(const PlanUnderTest &plan) {
  if (failed(checkPlacement(plan)) || failed(checkRoles(plan)))
    return failure();
  ReplayTables tables(plan.table);
  std::vector<Exchanges> exchanges; // all that is kept of a replay
  exchanges.reserve(plan.programs.size());
  for (ProgramOp program : plan.programs) {
    Replay replay(program, plan.table, plan.oracle, tables);
    if (failed(checkProgram(replay)))
      return failure();
    exchanges.push_back(replay.takeExchanges());
  }
  if (failed(checkTail(plan)) || failed(checkPairing(plan, exchanges)) ||
      failed(checkCertificates(plan)) || failed(checkTimeBounds(plan)) ||
      failed(checkRoleBound(plan)))
    return failure();
  return checkOptimality(plan, exchanges);
}

namespace {
struct VerifyPlan : ::etc::impl::VerifyPlanPassBase<VerifyPlan> {
  LogicalResult runOnMigration(MigrationOp migration) override {
    markAllAnalysesPreserved();
    return checkPlan(PlanUnderTest(migration));
  }
};
} // namespace
