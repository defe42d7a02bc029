#include "core/plan/Condense.h"

#include "core/plan/CondenseShards.h"
#include "core/plan/CondensedLists.h"
#include "core/plan/CondensedOrder.h"
#include "core/plan/CondensedRows.h"
#include "core/plan/Lists.h"
#include "core/plan/PackShared.h"
#include "core/plan/PlanFile.h"
#include "core/plan/Templates.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <span>

using namespace etc;
using namespace etc::plan;

namespace {

/// What the operations of one row have in common, but for their boxes.
__extension__ using Key = unsigned __int128;

Key keyOf(const fb::Op &op) {
  constexpr unsigned kNumber = 32;
  Key key = static_cast<Key>(op.kind());
  key = key << 2 | (op.from_curr() ? 2u : 0u) | (op.transit() ? 1u : 0u);
  for (uint32_t number : {op.peer(), op.tensor(), op.source()})
    key = key << kNumber | number;
  return key;
}

/// An operation and its round.
struct Part {
  const fb::Op *op;
  uint32_t round;
  Key key;
};

/// Parts that follow each other along an axis, in rounds that ascend.
struct Joined {
  Box box;
  unsigned axis;
  std::vector<int64_t> begins; // of the parts
  std::vector<uint32_t> rounds;
};

/// One use of a row.
struct Use {
  fb::Step step; // whose flow is not known yet
  uint32_t row;
};

using StepRows = std::vector<std::pair<fb::Step, Row>>;

/// Collects what programs have in common, then writes each as steps.
class Condenser {
public:
  explicit Condenser(fb::PlanT &plan)
      : plan(plan), boxes(plan.bounds), cuts(out.rounds, out.cuts),
        cutOfRound(plan.forecast.size(), kNone), flows(flowRows, flowRuns),
        splits(splitNumbers, splitRuns) {}

  CondensedLists run();

private:
  unsigned rankOf(uint32_t tensor) const {
    return plan.tensors[tensor]->shape.size();
  }
  BoxView oldBox(const fb::Op &op) const {
    return boxes.oldBox(op.box(), rankOf(op.tensor()));
  }
  bool isInOrder(const fb::ProgramT &program) const;
  /// A release has none.
  BoxView boxOf(const Part &part) const {
    return part.op->kind() == fb::OpKind::release ? BoxView()
                                                  : oldBox(*part.op);
  }
  uint32_t moveBox(const fb::Op &op) {
    return op.kind() == fb::OpKind::release
               ? 0
               : boxes.move(op.box(), rankOf(op.tensor()));
  }
  uint32_t cutOf(uint32_t round);
  std::vector<Part> sortParts(const fb::ProgramT &program) const;
  size_t join(std::span<const Part> parts);
  void addRows(std::span<const Part> parts, StepRows &rows);
  std::vector<Use> collect(const fb::ProgramT &program);
  void keepRounds(fb::ProgramT &program);
  void writeStep(std::span<Use> uses, ProgramLists &program);
  void writeSteps(std::span<Use> uses, ProgramLists &program);
  void writeFlows();

  static constexpr uint32_t kNone = ~uint32_t{0};

  fb::PlanT &plan;
  MovedBoxes boxes;
  CondensedLists out;
  Lists cuts;
  std::vector<uint32_t> cutOfRound; // alone, as most are; kNone: not yet
  Rows rows;
  std::vector<uint32_t> flowRows; // numbers in `rows`
  std::vector<fb::Run> flowRuns;
  Lists flows;
  Joined joined;                      // what is at hand
  std::vector<uint32_t> splitNumbers; // a box and a cut, one after the other
  std::vector<fb::Run> splitRuns;
  Lists splits;
};

} // namespace

/// Whether the rules that order operations leave no choice.
bool Condenser::isInOrder(const fb::ProgramT &program) const {
  auto rankOfTensor = [&](uint32_t tensor) { return rankOf(tensor); };
  const OpOrder isLess(boxes.oldBounds(), rankOfTensor);
  for (const auto &round : program.rounds)
    for (size_t i = 1; i < round->ops.size(); ++i)
      if (!isLess(round->ops[i - 1], round->ops[i]))
        return false;
  return program.rounds.empty() || !program.rounds.back()->ops.empty();
}

/// The axis along which `next` continues `whole`, if it is the only one in
/// which they differ.
static std::optional<unsigned> axisOfNext(BoxView whole, BoxView next) {
  std::optional<unsigned> axis;
  for (unsigned i = 0; i != whole.rank(); ++i) {
    if (whole[i] == next[i])
      continue;
    if (axis || whole[i].end != next[i].begin)
      return std::nullopt;
    axis = i;
  }
  return axis;
}

/// Whether the rule gives the parts.
static bool isCutByRule(const Joined &joined) {
  const auto parts = static_cast<uint32_t>(joined.begins.size());
  if (cutAxis(joined.box, parts) != joined.axis)
    return false;
  for (uint32_t i = 0; i != parts; ++i)
    if (partOf(joined.box[joined.axis], i, parts).begin != joined.begins[i])
      return false;
  return true;
}

/// Joins as many of the first parts as follow each other, and returns how many;
/// one leaves `joined` as it is.
size_t Condenser::join(std::span<const Part> parts) {
  size_t count = 1;
  for (; count != parts.size() && parts[count].round > parts[count - 1].round;
       ++count) {
    const BoxView box = boxOf(parts[count]);
    if (count == 1) {
      const BoxView first = boxOf(parts[0]);
      const auto axis = axisOfNext(first, box);
      if (!axis)
        break;
      joined.box = Box(first);
      joined.axis = *axis;
      joined.begins.assign(1, first[*axis].begin);
      joined.rounds.assign(1, parts[0].round);
    } else if (axisOfNext(joined.box, box) != joined.axis) {
      break;
    }
    joined.begins.push_back(box[joined.axis].begin);
    joined.box[joined.axis].end = box[joined.axis].end;
    joined.rounds.push_back(parts[count].round);
  }
  return count;
}

/// Pieces that are cut over the same rounds interleave; parts of one follow
/// each other along its axis.
std::vector<Part> Condenser::sortParts(const fb::ProgramT &program) const {
  std::vector<Part> parts;
  size_t count = 0;
  for (const auto &round : program.rounds)
    count += round->ops.size();
  parts.reserve(count);
  for (uint32_t round = 0; round != program.rounds.size(); ++round)
    for (const fb::Op &op : program.rounds[round]->ops)
      parts.push_back({&op, round, keyOf(op)});
  std::sort(parts.begin(), parts.end(), [&](const Part &a, const Part &b) {
    if (a.key != b.key)
      return a.key < b.key;
    if (a.op->kind() != fb::OpKind::release && a.op->box() != b.op->box())
      if (const auto order = oldBox(*a.op) <=> oldBox(*b.op); order != 0)
        return order < 0;
    return a.round < b.round;
  });
  return parts;
}

static bool isSame(const fb::Step &a, const fb::Step &b) {
  return a.kind() == b.kind() && a.from_curr() == b.from_curr() &&
         a.transit() == b.transit() && a.peer() == b.peer();
}

static fb::Step stepOf(const fb::Op &op) {
  return {op.kind(), op.from_curr(), op.transit(), op.peer(), 0};
}

uint32_t Condenser::cutOf(uint32_t round) {
  assert(round < cutOfRound.size() && "a plan has a forecast for each round");
  uint32_t &cut = cutOfRound[round];
  if (cut == kNone)
    cut = cuts.add({&round, 1});
  return cut;
}

/// Adds a piece, in a row with those of the tensors before.
static void addRow(const fb::Op &op, uint32_t box, uint32_t cut,
                   StepRows &found) {
  const fb::Step step = stepOf(op);
  auto continues = [&](const std::pair<fb::Step, Row> &entry) {
    const Row &row = entry.second;
    return row.tensor + row.count == op.tensor() &&
           row.source + row.count == op.source() && row.box == box &&
           row.cut == cut && isSame(entry.first, step);
  };
  // A tensor may have several boxes, each of which goes on with the next one.
  constexpr std::ptrdiff_t kNear = 8;
  const auto from = found.size() > kNear ? found.end() - kNear : found.begin();
  auto row = std::find_if(from, found.end(), continues);
  if (row == found.end())
    found.emplace_back(step, Row{op.tensor(), op.source(), box, cut, 1});
  else
    ++row->second.count;
}

/// Adds the operations of one key, joined where the rule parts them again.
void Condenser::addRows(std::span<const Part> parts, StepRows &found) {
  while (!parts.empty()) {
    const size_t count = join(parts);
    if (count > 1 && isCutByRule(joined))
      addRow(*parts[0].op, boxes.add(joined.box), cuts.add(joined.rounds),
             found);
    else
      for (const Part &part : parts.first(count))
        addRow(*part.op, moveBox(*part.op), cutOf(part.round), found);
    parts = parts.subspan(count);
  }
}

/// The uses of a program, those of tensors in a row as one.
std::vector<Use> Condenser::collect(const fb::ProgramT &program) {
  const std::vector<Part> parts = sortParts(program);
  StepRows found;
  for (size_t first = 0, end; first != parts.size(); first = end) {
    for (end = first + 1;
         end != parts.size() && parts[end].key == parts[first].key;)
      ++end;
    addRows(std::span(parts).subspan(first, end - first), found);
  }
  std::vector<Use> uses;
  uses.reserve(found.size());
  for (const auto &[step, row] : found)
    uses.push_back({step, rows.add(row)});
  return uses;
}

void Condenser::keepRounds(fb::ProgramT &program) {
  for (const auto &round : program.rounds)
    for (fb::Op &op : round->ops)
      if (op.kind() != fb::OpKind::release)
        op = fb::Op(op.kind(), op.from_curr(), op.transit(), op.peer(),
                    op.tensor(), op.source(), moveBox(op));
}

/// Rows that equally many use are mostly those of the same programs: they
/// become one flow.
void Condenser::writeStep(std::span<Use> uses, ProgramLists &program) {
  auto countOf = [&](const Use &use) { return rows.getUses(use.row); };
  std::stable_sort(uses.begin(), uses.end(), [&](const Use &a, const Use &b) {
    return countOf(a) < countOf(b);
  });
  for (size_t first = 0, end; first != uses.size(); first = end) {
    std::vector<uint32_t> flow;
    for (end = first;
         end != uses.size() && countOf(uses[end]) == countOf(uses[first]);
         ++end)
      flow.push_back(uses[end].row);
    fb::Step step = uses[first].step;
    step.mutate_flow(flows.add(flow));
    program.steps.push_back(step);
  }
}

/// Parts are sorted by their steps first.
void Condenser::writeSteps(std::span<Use> uses, ProgramLists &program) {
  while (!uses.empty()) {
    const auto end =
        std::find_if(uses.begin(), uses.end(), [&](const Use &use) {
          return !isSame(use.step, uses.front().step);
        });
    const auto count = static_cast<size_t>(end - uses.begin());
    writeStep(uses.first(count), program);
    uses = uses.subspan(count);
  }
}

/// The rows of a flow as items: those of the same tensors are pieces of one.
void Condenser::writeFlows() {
  std::vector<uint32_t> split;
  for (const fb::Run &run : flowRuns) {
    const auto first = static_cast<uint32_t>(out.items.size());
    for (uint32_t i = run.first(), end = i + run.count(); i != end;) {
      const Row &row = rows[flowRows[i]];
      split.clear();
      for (; i != end; ++i) {
        const Row &next = rows[flowRows[i]];
        if (next.tensor != row.tensor || next.source != row.source ||
            next.count != row.count)
          break;
        split.insert(split.end(), {next.box, next.cut});
      }
      out.items.emplace_back(row.tensor, row.source, splits.add(split),
                             row.count);
    }
    out.flows.emplace_back(first, out.items.size() - first);
  }
  for (size_t i = 0; i != splitNumbers.size(); i += 2)
    out.pieces.emplace_back(splitNumbers[i], splitNumbers[i + 1]);
  for (const fb::Run &run : splitRuns)
    out.splits.emplace_back(run.first() / 2, run.count() / 2);
}

/// Each slot has a device for each replica.
static void movePeers(fb::ProgramT &program, std::vector<uint32_t> &to) {
  for (const auto &slot : program.peers)
    to.insert(to.end(), slot->devices.begin(), slot->devices.end());
  program.peers.clear();
}

CondensedLists Condenser::run() {
  std::vector<std::vector<Use>> uses;
  uses.reserve(plan.programs.size());
  for (const auto &program : plan.programs) {
    const bool isStated = isInOrder(*program);
    uses.push_back(isStated ? collect(*program) : std::vector<Use>());
    if (isStated)
      program->rounds.clear();
    else
      keepRounds(*program);
  }
  out.programs.resize(uses.size());
  for (size_t p = 0; p != uses.size(); ++p)
    writeSteps(uses[p], out.programs[p]);
  writeFlows();
  condenseShards(plan, boxes, out);
  out.bounds = std::move(plan.bounds);
  for (size_t p = 0; p != uses.size(); ++p)
    movePeers(*plan.programs[p], out.programs[p].peers);
  return std::move(out);
}

/// A plan of which a reader could not know that it fits into its memory stays
/// as it is.
std::vector<uint8_t> etc::plan::condensePlan(std::span<const uint8_t> bytes) {
  const fb::Plan &plan = *fb::GetPlan(bytes.data());
  if (plan.condensed())
    return {bytes.begin(), bytes.end()};
  fb::PlanT object;
  plan.UnPackTo(&object);
  CondensedLists lists = Condenser(object).run();
  object.condensed = std::make_unique<fb::CondensedT>();
  object.features |= kCondensedFeature;
  stateTemplates(object, lists);
  object.condensed->packed = packLists(lists);
  std::vector<uint8_t> condensed = packShared(std::move(object));
  const fb::Plan &stated = *fb::GetPlan(condensed.data());
  const bool isRead = checkLists(stated, lists, condensed.size()).ok();
  return isRead ? condensed : std::vector(bytes.begin(), bytes.end());
}
