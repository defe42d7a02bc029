#include "core/plan/BoxTable.h"
#include "core/plan/Condense.h"
#include "core/plan/CondenseShards.h"
#include "core/plan/CondensedOrder.h"
#include "core/plan/PlanFile.h"
#include "core/plan/Templates.h"

using namespace etc;
using namespace etc::plan;

constexpr uint32_t kNoBox = ~uint32_t{0};

namespace {

/// Writes programs out. The plan's tables are sound.
class Expander {
public:
  explicit Expander(fb::PlanT &plan)
      : plan(plan), condensed(*plan.condensed), boxes(plan.bounds) {}

  void run(fb::ProgramT &program);

private:
  unsigned rankOf(uint32_t tensor) const {
    return plan.tensors[tensor]->shape.size();
  }
  void addLists(const std::vector<uint32_t> &lists,
                std::vector<uint32_t> &shards) const;
  void addSteps(fb::ProgramT &program);
  void addStep(const fb::Step &step, fb::ProgramT &program);
  void addPiece(const fb::Step &step, const fb::Piece &piece, uint32_t tensor,
                uint32_t source, fb::ProgramT &program);
  uint32_t boxOf(const fb::Piece &piece, uint32_t tensor, uint32_t part,
                 uint32_t parts);

  fb::PlanT &plan;
  const fb::CondensedT &condensed;
  BoxTable boxes; // of parts
};

} // namespace

/// By tensor. A program without lists has its shards in the order that it
/// likes.
void Expander::addLists(const std::vector<uint32_t> &lists,
                        std::vector<uint32_t> &shards) const {
  if (lists.empty())
    return;
  for (uint32_t list : lists) {
    const fb::Run &run = condensed.lists[list];
    const auto first = condensed.shards.begin() + run.first();
    shards.insert(shards.end(), first, first + run.count());
  }
  std::stable_sort(shards.begin(), shards.end(), [&](uint32_t a, uint32_t b) {
    return plan.shards[a].tensor() < plan.shards[b].tensor();
  });
}

/// The offset of a part's box; kNoBox of a part that is empty.
uint32_t Expander::boxOf(const fb::Piece &piece, uint32_t tensor, uint32_t part,
                         uint32_t parts) {
  if (parts == 1)
    return piece.box();
  Box box(BoxView::ofBounds(plan.bounds.data() + piece.box(), rankOf(tensor)));
  Span &axis = box[cutAxis(box, parts)];
  axis = partOf(axis, part, parts);
  return axis.begin == axis.end ? kNoBox : boxes.add(box);
}

void Expander::addPiece(const fb::Step &step, const fb::Piece &piece,
                        uint32_t tensor, uint32_t source,
                        fb::ProgramT &program) {
  const fb::Run &cut = condensed.cuts[piece.cut()];
  for (uint32_t part = 0; part != cut.count(); ++part) {
    const uint32_t box = boxOf(piece, tensor, part, cut.count());
    if (box == kNoBox)
      continue;
    const uint32_t round = condensed.rounds[cut.first() + part];
    while (program.rounds.size() <= round)
      program.rounds.push_back(std::make_unique<fb::RoundT>());
    program.rounds[round]->ops.push_back(fb::Op(step.kind(), step.from_curr(),
                                                step.transit(), step.peer(),
                                                tensor, source, box));
  }
}

void Expander::addStep(const fb::Step &step, fb::ProgramT &program) {
  const fb::Run &flow = condensed.flows[step.flow()];
  for (uint32_t i = flow.first(); i != flow.first() + flow.count(); ++i) {
    const fb::Item &item = condensed.items[i];
    const fb::Run &split = condensed.splits[item.split()];
    for (uint32_t t = 0; t != item.count(); ++t)
      for (uint32_t j = split.first(); j != split.first() + split.count(); ++j)
        addPiece(step, condensed.pieces[j], item.tensor() + t,
                 item.source() + t, program);
  }
}

void Expander::addSteps(fb::ProgramT &program) {
  for (const fb::Step &step : program.steps)
    addStep(step, program);
  auto rankOfTensor = [&](uint32_t tensor) { return rankOf(tensor); };
  for (const auto &round : program.rounds)
    std::sort(round->ops.begin(), round->ops.end(),
              OpOrder(plan.bounds.data(), rankOfTensor));
}

/// Rounds that a program has instead of steps stay as they are.
void Expander::run(fb::ProgramT &program) {
  addLists(program.prev_lists, program.prev_shards);
  addLists(program.curr_lists, program.curr_shards);
  if (!program.steps.empty())
    addSteps(program);
  program.steps = {};
  program.prev_lists = {};
  program.curr_lists = {};
}

fb::PlanT etc::plan::expandPlan(const fb::Plan &plan) {
  fb::PlanT expanded;
  plan.UnPackTo(&expanded);
  fillTemplates(expanded);
  expandShards(expanded);
  Expander expander(expanded);
  for (const auto &program : expanded.programs)
    expander.run(*program);
  expanded.condensed.reset();
  expanded.features &= ~kCondensedFeature;
  return expanded;
}
