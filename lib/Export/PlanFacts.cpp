//===- PlanFacts.cpp - What takes a look at all of a plan -----------------===//

#include "etc/Export/PlanFacts.h"

#include "core/plan/PlanFile.h"
#include "core/plan/Relays.h"
#include "core/plan/Unfold.h"

#include <algorithm>

using namespace etc;
namespace fb = etc::plan::fb;

void PlanFacts::look(const plan::PlanIndex &stated) {
  relayedBytes = plan::relayedBytes(stated);
  peakRatios = plan::peakRatios(stated);
}

/// What a device does, and what it holds, is the same in all lanes.
void PlanFacts::takeLanes(const plan::PlanIndex &lane, uint32_t count) {
  look(lane);
  relayedBytes *= count;
  const runtime::Workload work = runtime::workloadOfLanes(lane, count);
  const bool needsRounds = runtime::isSimulated(work);
  unfolded = plan::packPlan(needsRounds ? plan::unfoldPlan(lane.plan())
                                        : plan::unfoldOutline(lane.plan()));
  index.emplace(*fb::GetPlan(unfolded.data()));
  time = needsRounds ? runtime::timeOf(*index) : runtime::timeOf(*index, work);
}

PlanFacts::PlanFacts(const fb::Plan &plan, const runtime::PlanTime *known) {
  if (plan.lanes()) {
    takeLanes(plan::PlanIndex(plan), plan.lanes()->count());
    return;
  }
  index.emplace(plan);
  look(*index);
  time = known ? std::optional(*known) : runtime::timeOf(*index);
}

/// Whether the devices of a program receive what is a cast of another tensor.
static bool receivesCasts(const fb::Plan &plan, const fb::Program &program) {
  const auto isCast = [&](const fb::Op *op) {
    return op->kind() == fb::OpKind::recv &&
           plan.tensors()->Get(op->tensor())->derived_from() >= 0;
  };
  return std::any_of(program.rounds()->begin(), program.rounds()->end(),
                     [&](const fb::Round *round) {
                       return std::any_of(round->ops()->begin(),
                                          round->ops()->end(), isCast);
                     });
}

bool PlanFacts::movesCastsOfInventory() const {
  const fb::Plan &plan = getPlan();
  // With flat ranges of masters, nothing is cast anyway.
  if (plan.prev()->zero1() || plan.curr()->zero1() ||
      (!plan.prev()->inventory() && !plan.curr()->inventory()))
    return false;
  // Such a plan has no lanes, so that all of its operations are there.
  return std::any_of(plan.programs()->begin(), plan.programs()->end(),
                     [&](const fb::Program *program) {
                       return receivesCasts(plan, *program);
                     });
}
