//===- CutFlows.cpp - What programs move, cut into chunks -----------------===//

#include "CutFlows.h"

#include "HopChunks.h"

#include <map>

using namespace etc;
using namespace mlir;

using rounds::ClassMemory;
using rounds::ClassTotals;
using rounds::Unit;

/// One type of an item, cut into several numbers of chunks.
struct FlowCutter::TypeCuts {
  TypeCuts(const ProgramFlows &flows, unsigned item, unsigned type)
      : type(type), most(flows, item, type) {}

  unsigned type;
  HopMost most;
  std::map<int64_t, std::vector<HopChunks>> hops; ///< [chunks][hops]
};

/// For one memory.
class FlowCutter::Cutter {
public:
  Cutter(FlowCutter &cutter, CutFlows &cut) : cutter(cutter), cut(cut) {}

  void addItem(unsigned item);
  /// One that is cut as the item whose units are [begin, end).
  void addAlike(unsigned item, size_t begin, size_t end);
  int32_t getNext() const {
    return static_cast<int32_t>(cut.problem.units.size());
  }

private:
  std::vector<TypeCuts> &findCuts(unsigned item);
  void addMoves(unsigned item, TypeCuts &cuts);
  void addDerives(unsigned item, ArrayRef<int32_t> last);
  void addHop(unsigned item, Portion portion, HopChunks &chunks);

  FlowCutter &cutter;
  CutFlows &cut;
};

/// What is derived comes in a later round than the last unit of its source.
void FlowCutter::Cutter::addDerives(unsigned item, ArrayRef<int32_t> last) {
  const TensorTable &table = cutter.flows.getTable();
  for (unsigned type = 0; type < last.size(); ++type) {
    if (llvm::none_of(cutter.flows.getFlows(item),
                      [&](const ItemFlow &flow) { return flow.derives(type); }))
      continue;
    const Portion portion = {type, 0, 1, /*hop=*/0, /*derives=*/true};
    Unit unit = HopChunks(cutter.flows, item, portion, nullptr).makeUnit(0);
    unit.before = last[type];
    unit.after =
        last[*table.getDerivationSource(cutter.flows.getTensor(item), type)];
    cut.chunks.push_back({item, portion});
    cut.problem.units.push_back(std::move(unit));
  }
}

/// A chunk is sent on in a later round than it arrives.
void FlowCutter::Cutter::addHop(unsigned item, Portion portion,
                                HopChunks &chunks) {
  for (; portion.chunk < portion.chunks; ++portion.chunk) {
    const int32_t number = getNext();
    Unit unit = chunks.makeUnit(portion.chunk);
    if (portion.chunk > 0)
      unit.before = number - 1;
    if (portion.hop > 0)
      unit.after = number - static_cast<int32_t>(portion.chunks);
    cut.chunks.push_back({item, portion});
    cut.problem.units.push_back(std::move(unit));
  }
}

void FlowCutter::Cutter::addMoves(unsigned item, TypeCuts &cuts) {
  const int64_t count =
      cuts.most.countChunks(cut.problem.classes, cutter.parts);
  std::vector<HopChunks> &hops = cuts.hops[count];
  for (unsigned hop = 0; hop <= cuts.most.getLastHop(); ++hop) {
    const Portion portion = {cuts.type, 0, count, hop, /*derives=*/false};
    if (hop == hops.size())
      hops.emplace_back(cutter.flows, item, portion, cutter.loads);
    addHop(item, portion, hops[hop]);
  }
}

std::vector<FlowCutter::TypeCuts> &FlowCutter::Cutter::findCuts(unsigned item) {
  std::vector<TypeCuts> &cuts = cutter.cuts[cutter.kinds[item]];
  if (cuts.empty())
    for (unsigned type : cutter.flows.getTable()
                             .getTypes(cutter.flows.getTensor(item))
                             .set_bits())
      cuts.emplace_back(cutter.flows, item, type);
  return cuts;
}

/// The units of one item: for every type the chunks that move, then what is
/// derived. What a derived type keeps is of the first kind and waits for
/// nothing, so that its memory comes free early.
void FlowCutter::Cutter::addItem(unsigned item) {
  SmallVector<int32_t> last(cutter.flows.getTable().getTypeCount(),
                            -1); // unit of each type
  for (TypeCuts &cuts : findCuts(item)) {
    addMoves(item, cuts);
    last[cuts.type] = getNext() - 1;
  }
  addDerives(item, last);
}

void FlowCutter::Cutter::addAlike(unsigned item, size_t begin, size_t end) {
  const int32_t shift = getNext() - static_cast<int32_t>(begin);
  for (size_t i = begin; i < end; ++i) {
    cut.chunks.push_back({item, cut.chunks[i].portion});
    Unit unit = cut.problem.units[i];
    for (int32_t *other : {&unit.before, &unit.after})
      if (*other >= 0)
        *other += shift;
    cut.problem.units.push_back(std::move(unit));
  }
}

FlowCutter::FlowCutter(const ProgramFlows &flows, const ItemKinds &kinds,
                       int64_t parts, const PortLoads *loads)
    : flows(flows), kinds(kinds), parts(parts), loads(loads),
      cuts(kinds.size()) {}

FlowCutter::~FlowCutter() = default;

CutFlows FlowCutter::cut(std::vector<ClassMemory> classes) {
  CutFlows cut;
  cut.problem.classes = std::move(classes);
  cut.problem.ports = loads ? loads->countPorts() : 0;
  // Most items move whole.
  const size_t least = flows.getItemCount() * flows.getTable().getTypeCount();
  cut.chunks.reserve(least);
  cut.problem.units.reserve(least);
  Cutter cutter(*this, cut);
  std::vector<std::pair<size_t, size_t>> unitsOf(kinds.size());
  for (unsigned item = 0; item < flows.getItemCount(); ++item) {
    auto &[begin, end] = unitsOf[kinds[item]];
    if (begin < end) {
      cutter.addAlike(item, begin, end);
      continue;
    }
    begin = cutter.getNext();
    cutter.addItem(item);
    end = cutter.getNext();
  }
  return cut;
}

std::vector<ClassTotals> etc::totalsOf(const ProgramFlows &flows) {
  std::vector<ClassTotals> totals;
  for (const ProgramMemory &it : flows.getMemories())
    totals.push_back({it.prev, it.curr, it.sent, it.received,
                      /*turnsOver=*/false, it.gradients});
  SmallVector<std::pair<bool, bool>> uses(totals.size());
  for (unsigned item = 0; item < flows.getItemCount(); ++item)
    for (const ItemFlow &flow : flows.getFlows(item)) {
      uses[flow.program].first |= flow.allocated > 0;
      uses[flow.program].second |= flow.released > 0;
    }
  for (auto [it, use] : llvm::zip_equal(totals, uses))
    it.turnsOver = use.first && use.second;
  return totals;
}

std::vector<ClassTotals> etc::urgentOf(std::vector<ClassTotals> totals,
                                       const ProgramFlows &flows) {
  for (auto [it, memory] : llvm::zip_equal(totals, flows.getMemories())) {
    it.sent = memory.urgentSent;
    it.received = memory.urgentReceived;
  }
  return totals;
}
