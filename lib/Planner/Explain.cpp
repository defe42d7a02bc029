//===- Explain.cpp - What plans do, for people ----------------------------===//

#include "etc/Planner/Explain.h"

#include "etc/Export/PlanText.h"
#include "etc/Export/TrainerState.h"
#include "etc/Planner/Price.h"
#include "etc/Transforms/Passes.h"

using namespace etc;
using namespace mlir;

void etc::writeExplanation(const request::Request &request,
                           PlannedRequest &planned,
                           const std::optional<Price> &price, raw_ostream &os) {
  uint64_t moved = 0, internode = 0;
  const bool isTimed = planned.times.size() == planned.plans.size();
  for (auto [i, bytes, migration] :
       llvm::enumerate(planned.plans, planned.module->getOps<MigrationOp>())) {
    const PlanFacts facts(*plan::fb::GetPlan(bytes.data()),
                          isTimed ? &planned.times[i] : nullptr);
    writeSummary(facts, os, /*derives=*/!migration.getDeriveNone());
    if (migration->hasAttr(quickMark))
      os << "  search   --objective=time looks for less time, though planning "
            "then takes longer\n";
    if (price)
      writePrice(*price, os);
    const plan::fb::Summary &summary = *facts.getPlan().summary();
    moved += summary.moved_bytes();
    internode += summary.internode_bytes();
  }
  if (planned.plans.size() > 1)
    os << "in all: moves " << formatBytes(moved) << ", "
       << formatBytes(internode) << " between nodes, in "
       << planned.plans.size() << " stages\n";
  writeTrainerState(request, os);
}
