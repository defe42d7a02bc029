#include "core/plan/Condense.h"

#include "core/plan/BoxTable.h"
#include "core/plan/CondenseShards.h"
#include "core/plan/CondensedOrder.h"
#include "core/plan/Lists.h"
#include "core/plan/PackShared.h"
#include "core/plan/PlanFile.h"
#include "core/plan/Templates.h"

#include <algorithm>
#include <optional>
#include <span>

using namespace etc;
using namespace etc::plan;

namespace {

/// A piece of tensors in a row.
struct Row {
  uint32_t tensor, source, box, cut, count;
};

/// Distinct rows, and how often each is used.
class Rows {
public:
  uint32_t add(const Row &row) {
    const std::string_view key(reinterpret_cast<const char *>(&row),
                               sizeof row);
    auto number =
        numbers.find(key, [&](uint32_t other) { return &rows[other]; });
    if (!number) {
      number = static_cast<uint32_t>(rows.size());
      numbers.add(key, *number);
      rows.push_back(row);
      uses.push_back(0);
    }
    ++uses[*number];
    return *number;
  }
  const Row &operator[](uint32_t number) const { return rows[number]; }
  uint32_t getUses(uint32_t number) const { return uses[number]; }

private:
  std::vector<Row> rows;
  std::vector<uint32_t> uses;
  BytesTable numbers;
};

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
  fb::Op op;
  uint32_t round;
  Key key;
};

/// An operation, or the parts of one: a whole box, and its rounds.
struct Whole {
  fb::Op op;
  Box box;
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
      : plan(plan), oldBounds(std::move(plan.bounds)), boxes(plan.bounds),
        cuts(out.rounds, out.cuts), flows(flowRows, flowRuns),
        splits(splitNumbers, splitRuns) {}

  void run();

private:
  unsigned rankOf(uint32_t tensor) const {
    return plan.tensors[tensor]->shape.size();
  }
  BoxView oldBox(const fb::Op &op) const {
    return BoxView::ofBounds(oldBounds.data() + op.box(), rankOf(op.tensor()));
  }
  bool isInOrder(const fb::ProgramT &program) const;
  /// A release has none.
  BoxView boxOf(const Part &part) const {
    return part.op.kind() == fb::OpKind::release ? BoxView() : oldBox(part.op);
  }
  std::vector<Part> sortParts(const fb::ProgramT &program) const;
  template <typename Function>
  void joinParts(std::span<const Part> parts, Function function);
  void addRow(const Whole &whole, StepRows &rows);
  std::vector<Use> collect(const fb::ProgramT &program);
  void keepRounds(fb::ProgramT &program);
  void writeSteps(std::vector<Use> uses, fb::ProgramT &program);
  void writeFlows();

  fb::PlanT &plan;
  const std::vector<int64_t> oldBounds;
  BoxTable boxes;
  fb::CondensedT out;
  Lists cuts;
  Rows rows;
  std::vector<uint32_t> flowRows; // numbers in `rows`
  std::vector<fb::Run> flowRuns;
  Lists flows;
  Whole whole;                        // the one at hand
  std::vector<int64_t> begins;        // of its parts
  std::vector<uint32_t> splitNumbers; // a box and a cut, one after the other
  std::vector<fb::Run> splitRuns;
  Lists splits;
};

} // namespace

/// Whether the rules that order operations leave no choice.
bool Condenser::isInOrder(const fb::ProgramT &program) const {
  auto rankOfTensor = [&](uint32_t tensor) { return rankOf(tensor); };
  const OpOrder isLess(oldBounds.data(), rankOfTensor);
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

/// Whether the rule gives the parts, of which `begins` are the first positions.
static bool isCutByRule(BoxView whole, unsigned axis,
                        const std::vector<int64_t> &begins) {
  const auto parts = static_cast<uint32_t>(begins.size());
  if (cutAxis(whole, parts) != axis)
    return false;
  for (uint32_t i = 0; i != parts; ++i)
    if (partOf(whole[axis], i, parts).begin != begins[i])
      return false;
  return true;
}

/// Calls a function with the operations of one key, joined where the rule parts
/// them again.
template <typename Function>
void Condenser::joinParts(std::span<const Part> parts, Function function) {
  auto begin = [&](const Part &part) {
    whole.op = part.op;
    whole.box = Box(boxOf(part));
    whole.rounds.assign(1, part.round);
  };
  for (size_t first = 0, next; first != parts.size(); first = next) {
    begin(parts[first]);
    begins.clear();
    std::optional<unsigned> axis;
    for (next = first + 1;
         next != parts.size() && parts[next].round > whole.rounds.back();
         ++next) {
      const BoxView box = boxOf(parts[next]);
      const auto along = axisOfNext(whole.box, box);
      if (!along || (axis && *axis != *along))
        break;
      if (!axis)
        begins.push_back(whole.box[*along].begin);
      axis = along;
      begins.push_back(box[*axis].begin);
      whole.box[*axis].end = box[*axis].end;
      whole.rounds.push_back(parts[next].round);
    }
    if (!axis || isCutByRule(whole.box, *axis, begins)) {
      function(whole);
      continue;
    }
    for (size_t i = first; i != next; ++i) {
      begin(parts[i]);
      function(whole);
    }
  }
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
      parts.push_back({op, round, keyOf(op)});
  std::sort(parts.begin(), parts.end(), [&](const Part &a, const Part &b) {
    if (a.key != b.key)
      return a.key < b.key;
    if (a.op.kind() != fb::OpKind::release && a.op.box() != b.op.box())
      if (const auto order = oldBox(a.op) <=> oldBox(b.op); order != 0)
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

/// Adds an operation, in a row with those of the tensors before.
void Condenser::addRow(const Whole &whole, StepRows &found) {
  const uint32_t box =
      whole.op.kind() == fb::OpKind::release ? 0 : boxes.add(whole.box);
  const Row next{whole.op.tensor(), whole.op.source(), box,
                 cuts.add(whole.rounds), 1};
  const fb::Step step = stepOf(whole.op);
  auto continues = [&](const std::pair<fb::Step, Row> &entry) {
    const Row &row = entry.second;
    return isSame(entry.first, step) && row.box == next.box &&
           row.cut == next.cut && row.tensor + row.count == next.tensor &&
           row.source + row.count == next.source;
  };
  // A tensor may have several boxes, each of which goes on with the next one.
  constexpr std::ptrdiff_t kNear = 8;
  const auto from = found.size() > kNear ? found.end() - kNear : found.begin();
  auto row = std::find_if(from, found.end(), continues);
  if (row == found.end())
    found.emplace_back(step, next);
  else
    ++row->second.count;
}

/// The uses of a program, those of tensors in a row as one.
std::vector<Use> Condenser::collect(const fb::ProgramT &program) {
  const std::vector<Part> parts = sortParts(program);
  StepRows found;
  for (size_t first = 0, end; first != parts.size(); first = end) {
    for (end = first + 1;
         end != parts.size() && parts[end].key == parts[first].key;)
      ++end;
    joinParts(std::span(parts).subspan(first, end - first),
              [&](const Whole &whole) { addRow(whole, found); });
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
                    op.tensor(), op.source(), boxes.add(oldBox(op)));
}

/// Rows that equally many use are mostly those of the same programs: they
/// become one flow.
void Condenser::writeSteps(std::vector<Use> uses, fb::ProgramT &program) {
  auto keyOfUse = [&](const Use &use) {
    return std::tuple(use.step.kind(), use.step.from_curr(), use.step.transit(),
                      use.step.peer(), rows.getUses(use.row));
  };
  std::stable_sort(uses.begin(), uses.end(), [&](const Use &a, const Use &b) {
    return keyOfUse(a) < keyOfUse(b);
  });
  for (size_t first = 0, end; first != uses.size(); first = end) {
    std::vector<uint32_t> flow;
    for (end = first;
         end != uses.size() && keyOfUse(uses[end]) == keyOfUse(uses[first]);
         ++end)
      flow.push_back(uses[end].row);
    fb::Step step = uses[first].step;
    step.mutate_flow(flows.add(flow));
    program.steps.push_back(step);
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

void Condenser::run() {
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
  for (size_t p = 0; p != uses.size(); ++p)
    writeSteps(std::move(uses[p]), *plan.programs[p]);
  writeFlows();
  condenseShards(plan, oldBounds, boxes, out);
  plan.condensed = std::make_unique<fb::CondensedT>(std::move(out));
  plan.features |= kCondensedFeature;
}

// A plan of which a reader could not know that it fits into its memory stays as
// it is.
std::vector<uint8_t> etc::plan::condensePlan(std::span<const uint8_t> bytes) {
  const fb::Plan &plan = *fb::GetPlan(bytes.data());
  std::vector<uint8_t> condensed;
  if (!plan.condensed()) {
    fb::PlanT object;
    plan.UnPackTo(&object);
    Condenser(object).run();
    stateTemplates(object);
    condensed = packShared(std::move(object));
  }
  const bool isRead =
      !condensed.empty() &&
      checkCondensed(*fb::GetPlan(condensed.data()), condensed.size()).ok();
  return isRead ? condensed : std::vector(bytes.begin(), bytes.end());
}
