//===- PlanFacts.cpp - What takes a look at all of a plan -----------------===//

#include "etc/Export/PlanFacts.h"

#include "core/plan/PlanFile.h"
#include "core/plan/Relays.h"
#include "core/plan/Unfold.h"

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
