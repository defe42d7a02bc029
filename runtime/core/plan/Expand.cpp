#include "core/plan/BoxTable.h"
#include "core/plan/Condense.h"
#include "core/plan/CondenseShards.h"
#include "core/plan/CondensedLists.h"
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
  Expander(fb::PlanT &plan, const CondensedLists &condensed)
      : plan(plan), condensed(condensed), boxes(plan.bounds) {}

  void run(fb::ProgramT &program, const ProgramLists &lists);

private:
  unsigned rankOf(uint32_t tensor) const {
    return plan.tensors[tensor]->shape.size();
  }
  void addLists(const std::vector<uint32_t> &lists,
                std::vector<uint32_t> &shards) const;
  void addSteps(const std::vector<fb::Step> &steps, fb::ProgramT &program);
  void addStep(const fb::Step &step, fb::ProgramT &program);
  void addPiece(const fb::Step &step, const fb::Piece &piece, uint32_t tensor,
                uint32_t source, fb::ProgramT &program);
  uint32_t boxOf(const fb::Piece &piece, uint32_t tensor, uint32_t part,
                 uint32_t parts);

  fb::PlanT &plan;
  const CondensedLists &condensed;
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
    const auto first = condensed.held.begin() + run.first();
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

void Expander::addSteps(const std::vector<fb::Step> &steps,
                        fb::ProgramT &program) {
  for (const fb::Step &step : steps)
    addStep(step, program);
  auto rankOfTensor = [&](uint32_t tensor) { return rankOf(tensor); };
  for (const auto &round : program.rounds)
    std::sort(round->ops.begin(), round->ops.end(),
              OpOrder(plan.bounds.data(), rankOfTensor));
}

/// Slot by slot, one of each replica.
static void addPeers(const std::vector<uint32_t> &peers,
                     fb::ProgramT &program) {
  const auto replicas = static_cast<std::ptrdiff_t>(program.devices.size());
  for (auto first = peers.begin(); first != peers.end(); first += replicas) {
    auto slot = std::make_unique<fb::PeersT>();
    slot->devices.assign(first, first + replicas);
    program.peers.push_back(std::move(slot));
  }
}

/// Rounds that a program has instead of steps stay as they are.
void Expander::run(fb::ProgramT &program, const ProgramLists &lists) {
  addPeers(lists.peers, program);
  addLists(lists.prev_lists, program.prev_shards);
  addLists(lists.curr_lists, program.curr_shards);
  if (!lists.steps.empty())
    addSteps(lists.steps, program);
}

static fb::PlanT expand(const fb::Plan &plan, CondensedLists lists) {
  fb::PlanT expanded;
  plan.UnPackTo(&expanded);
  expanded.shards = std::move(lists.shards);
  expanded.boxes = std::move(lists.boxes);
  expanded.bounds = std::move(lists.bounds);
  fillTemplates(expanded, lists);
  expandShards(expanded);
  Expander expander(expanded, lists);
  for (size_t p = 0; p != lists.programs.size(); ++p)
    expander.run(*expanded.programs[p], lists.programs[p]);
  expanded.condensed.reset();
  expanded.features &= ~kCondensedFeature;
  return expanded;
}

Result<fb::PlanT> etc::plan::expandPlan(const fb::Plan &plan,
                                        uint64_t fileBytes) {
  Result<CondensedLists> lists = unpackLists(plan);
  if (!lists)
    return lists.status();
  if (Status s = checkLists(plan, *lists, fileBytes); !s.ok())
    return s;
  return expand(plan, std::move(*lists));
}
