//===- PlanFacts.cpp - What takes a look at all of a plan -----------------===//

#include "etc/Export/PlanFacts.h"

#include "core/plan/PlanFile.h"
#include "core/plan/Relays.h"
#include "core/plan/SectionMap.h"
#include "core/plan/Unfold.h"
#include "core/plan/UnfoldSections.h"

#include <algorithm>

using namespace etc;
namespace fb = etc::plan::fb;

/// Of a plan of lanes and sections, for all of them.
void PlanFacts::look(const plan::PlanIndex &stated, uint64_t lanes) {
  std::vector<uint64_t> copies;
  if (stated.plan().sections())
    copies = plan::SectionMap(stated.plan()).copiesOfRanks(stated);
  relayedBytes = plan::relayedBytes(stated, copies) * lanes;
  peakRatios = plan::peakRatios(stated);
}

static std::vector<uint8_t> unfold(const fb::Plan &stated, bool hasRounds) {
  std::vector<uint8_t> bytes;
  const fb::Plan *plan = &stated;
  if (plan->lanes()) {
    bytes = plan::packPlan(hasRounds ? plan::unfoldPlan(*plan)
                                     : plan::unfoldOutline(*plan));
    plan = fb::GetPlan(bytes.data());
  }
  if (plan->sections())
    bytes = plan::packPlan(hasRounds ? plan::unfoldSections(*plan)
                                     : plan::outlineOfSections(*plan));
  return bytes;
}

/// What a device does, and what it holds, is the same in all lanes, and in all
/// sections of a kind.
void PlanFacts::takeParts(const fb::Plan &stated) {
  const plan::PlanIndex part(stated);
  const uint32_t lanes = stated.lanes() ? stated.lanes()->count() : 1;
  look(part, lanes);
  runtime::Workload work = runtime::workloadOfLanes(part, lanes);
  unfolded = unfold(stated, /*hasRounds=*/false);
  index.emplace(*fb::GetPlan(unfolded.data()));
  if (stated.sections()) {
    const std::vector<uint8_t> outline =
        stated.lanes() ? plan::packPlan(plan::unfoldOutline(stated))
                       : std::vector<uint8_t>();
    const plan::PlanIndex kinds(outline.empty() ? stated
                                                : *fb::GetPlan(outline.data()));
    work = runtime::workloadOfSections(work, kinds, *index);
  }
  if (!runtime::isSimulated(work)) {
    time = runtime::timeOf(*index, work);
    return;
  }
  index.reset();
  unfolded = unfold(stated, /*hasRounds=*/true);
  index.emplace(*fb::GetPlan(unfolded.data()));
  time = runtime::timeOf(*index);
}

PlanFacts::PlanFacts(const fb::Plan &plan, const runtime::PlanTime *known) {
  if (plan.lanes() || plan.sections()) {
    takeParts(plan);
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
  // Such a plan has no lanes and sections, so that all of its operations are
  // there.
  return std::any_of(plan.programs()->begin(), plan.programs()->end(),
                     [&](const fb::Program *program) {
                       return receivesCasts(plan, *program);
                     });
}
