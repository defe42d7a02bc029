//===- CutFlows.cpp - What programs move, cut into chunks -----------------===//

#include "CutFlows.h"

using namespace etc;
using namespace mlir;

using rounds::ClassMemory;
using rounds::ClassTotals;
using rounds::Unit;

namespace {
using Touches = rounds::SharedList<rounds::Touch>;

class Cutter {
public:
  Cutter(const ProgramFlows &flows, int64_t parts, CutFlows &cut)
      : flows(flows), parts(parts), cut(cut) {}

  void addItem(unsigned item);
  /// One that is cut as the item whose units are [begin, end).
  void addAlike(unsigned item, size_t begin, size_t end);
  int32_t getNext() const {
    return static_cast<int32_t>(cut.problem.units.size());
  }

private:
  void addMoves(unsigned item, unsigned type);
  void addDerives(unsigned item, ArrayRef<int32_t> last);
  void addHop(unsigned item, Portion portion);
  Touches touchesOf(unsigned item, const Portion &portion) const;
  Unit &addUnit(unsigned item, const Portion &portion, Touches touches);

  const ProgramFlows &flows;
  const int64_t parts;
  CutFlows &cut;
};
} // namespace

unsigned etc::findLastHop(ArrayRef<ItemFlow> flows, unsigned type) {
  unsigned last = 0;
  for (const ItemFlow &flow : flows)
    last = std::max(last, flow.getLastHop(type));
  return last;
}

int64_t etc::countChunks(const ProgramFlows &flows,
                         ArrayRef<ClassMemory> classes, int64_t parts,
                         unsigned item, unsigned type) {
  const int64_t size = flows.getTable().getTypeBytes(type);
  const unsigned lastHop = findLastHop(flows.getFlows(item), type);
  int64_t count = 1;
  for (unsigned hop = 0; hop <= lastHop; ++hop)
    for (const ItemFlow &flow : flows.getFlows(item)) {
      const Portion whole = {type, 0, 1, hop, /*derives=*/false};
      const ClassMemory &memory = classes[flow.program];
      count = std::max({count,
                        rounds::countChunks(flow.getSent(whole) * size,
                                            memory.sendSlab, parts),
                        rounds::countChunks(flow.getReceived(whole) * size,
                                            memory.recvSlab, parts)});
    }
  return count;
}

Touches Cutter::touchesOf(unsigned item, const Portion &portion) const {
  const int64_t size = flows.getTable().getTypeBytes(portion.type);
  std::vector<rounds::Touch> touches;
  touches.reserve(flows.getFlows(item).size());
  for (const ItemFlow &flow : flows.getFlows(item))
    touches.push_back(
        {static_cast<int32_t>(flow.program),
         (flow.getAllocated(portion) + flow.getArrived(portion)) * size,
         (flow.getReleased(portion) + flow.getPassedOn(portion)) * size,
         flow.getSent(portion) * size, flow.getReceived(portion) * size});
  return touches;
}

Unit &Cutter::addUnit(unsigned item, const Portion &portion, Touches touches) {
  cut.chunks.push_back({item, portion});
  Unit &unit = cut.problem.units.emplace_back(Unit{std::move(touches)});
  unit.isDeferred = flows.getTable().isDeferred(portion.type);
  return unit;
}

/// What is derived comes in a later round than the last unit of its source.
void Cutter::addDerives(unsigned item, ArrayRef<int32_t> last) {
  for (unsigned type = 0; type < last.size(); ++type) {
    if (llvm::none_of(flows.getFlows(item),
                      [&](const ItemFlow &flow) { return flow.derives(type); }))
      continue;
    const Portion portion = {type, 0, 1, /*hop=*/0, /*derives=*/true};
    Unit &unit = addUnit(item, portion, touchesOf(item, portion));
    unit.before = last[type];
    unit.after = last[*flows.getTable().getDerivationSource(
        flows.getTensor(item), type)];
  }
}

/// A chunk is sent on in a later round than it arrives. Memory is allocated and
/// released with the first and the last: those between do the same to it if
/// they are of one size.
void Cutter::addHop(unsigned item, Portion portion) {
  ChunkSizes sizes(flows.getFlows(item), portion);
  SmallVector<Touches, 2> inner; // of each size
  auto findTouches = [&]() {
    if (portion.chunk == 0 || portion.chunk == portion.chunks - 1)
      return touchesOf(item, portion);
    const unsigned number = sizes.number(portion.chunk);
    if (number == inner.size())
      inner.push_back(touchesOf(item, portion));
    return inner[number];
  };
  for (; portion.chunk < portion.chunks; ++portion.chunk) {
    const int32_t number = getNext();
    Unit &unit = addUnit(item, portion, findTouches());
    if (portion.chunk > 0)
      unit.before = number - 1;
    if (portion.hop > 0)
      unit.after = number - static_cast<int32_t>(portion.chunks);
  }
}

void Cutter::addMoves(unsigned item, unsigned type) {
  const int64_t count =
      countChunks(flows, cut.problem.classes, parts, item, type);
  for (unsigned hop = 0; hop <= findLastHop(flows.getFlows(item), type); ++hop)
    addHop(item, {type, 0, count, hop, /*derives=*/false});
}

/// The units of one item: for every type the chunks that move, then what is
/// derived. What a derived type keeps is of the first kind and waits for
/// nothing, so that its memory comes free early.
void Cutter::addItem(unsigned item) {
  const TensorTable &table = flows.getTable();
  SmallVector<int32_t> last(table.getTypeCount(), -1); // unit of each type
  for (unsigned type : table.getTypes(flows.getTensor(item)).set_bits()) {
    addMoves(item, type);
    last[type] = getNext() - 1;
  }
  addDerives(item, last);
}

void Cutter::addAlike(unsigned item, size_t begin, size_t end) {
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

CutFlows::CutFlows(const ProgramFlows &flows, const ItemKinds &kinds,
                   std::vector<ClassMemory> classes, int64_t parts) {
  problem.classes = std::move(classes);
  // Most items move whole.
  const size_t least = flows.getItemCount() * flows.getTable().getTypeCount();
  chunks.reserve(least);
  problem.units.reserve(least);
  Cutter cutter(flows, parts, *this);
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
