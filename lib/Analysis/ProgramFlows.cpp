//===- ProgramFlows.cpp - What programs do to each tensor -----------------===//

#include "etc/Analysis/ProgramFlows.h"

#include "etc/Analysis/Preserved.h"

using namespace etc;
using namespace mlir;

int64_t etc::elementsOf(const Step &step, const Portion &portion) {
  if (portion.derives || !step.isOf(portion.type) ||
      step.getHop() != portion.hop)
    return 0;
  return partOf(*step.piece, portion.chunk, portion.chunks).size();
}

/// Along the outermost axis that is long enough, so that the parts of what is
/// contiguous are contiguous; where none is, along the longest.
static unsigned chunkAxis(const Piece &piece, int64_t chunks) {
  unsigned longest = Piece::Outer;
  for (unsigned axis = 0; axis < Piece::rank(); ++axis) {
    if (piece[axis].size() >= chunks)
      return axis;
    if (piece[axis].size() > piece[longest].size())
      longest = axis;
  }
  return longest;
}

Piece etc::partOf(const Piece &piece, int64_t chunk, int64_t chunks) {
  const unsigned axis = chunkAxis(piece, chunks);
  Piece part = piece;
  const Span whole = piece[axis];
  // Rounded up: a tensor is allocated with its first chunk, so that is never
  // empty.
  auto positionOf = [&](int64_t number) {
    return whole.begin + static_cast<int64_t>(
                             llvm::divideCeil(whole.size() * number, chunks));
  };
  part[axis] = {positionOf(chunk), positionOf(chunk + 1)};
  return part;
}

int64_t ItemFlow::getSent(const Portion &portion) const {
  int64_t elements = 0;
  for (const Step &step : steps)
    if (step.isSend())
      elements += elementsOf(step, portion);
  return elements;
}

int64_t ItemFlow::getReceived(const Portion &portion) const {
  int64_t elements = 0;
  for (const Step &step : steps)
    if (step.isRecv())
      elements += elementsOf(step, portion);
  return elements;
}

bool ItemFlow::derives(unsigned type) const {
  return llvm::any_of(steps, [&](const Step &step) {
    return step.isDerive() && step.isOf(type);
  });
}

int64_t ItemFlow::sumDerivedWhole(unsigned type) const {
  int64_t elements = 0;
  for (const Step &step : steps) {
    if (!step.isDerive() || !step.isOf(type))
      continue;
    bool isWritten = llvm::any_of(steps, [&](const Step &other) {
      return other.writesMoved() && other.isOf(type) &&
             other.piece->tensor == step.piece->tensor;
    });
    elements += isWritten ? 0 : step.piece->size();
  }
  return elements;
}

int64_t ItemFlow::getAllocated(const Portion &portion) const {
  if (portion.derives)
    return derivedWhole[portion.type];
  return portion.chunk == 0 && portion.hop == firstHop[portion.type]
             ? allocated - derivedWhole[portion.type]
             : 0;
}

unsigned ItemFlow::getLastHop(unsigned type) const {
  unsigned last = 0;
  for (const Step &step : steps)
    if (step.isOf(type))
      last = std::max(last, step.getHop());
  return last;
}

unsigned ItemFlow::findFirstHop(unsigned type) const {
  std::optional<unsigned> first;
  for (const Step &step : steps)
    if (step.writesMoved() && step.isOf(type))
      first = std::min(first.value_or(step.getHop()), step.getHop());
  return first.value_or(0);
}

ItemFlow::Passing ItemFlow::findPassing(unsigned type) const {
  Passing passing;
  for (const Step &step : steps) {
    if (!step.isTransit() || !step.isOf(type))
      continue;
    if (step.isSend()) {
      passing.last = std::max(passing.last, step.getHop());
      continue;
    }
    passing.first = passing.elements == 0
                        ? step.getHop()
                        : std::min(passing.first, step.getHop());
    passing.elements += step.piece->size();
  }
  return passing;
}

void ItemFlow::close(unsigned types) {
  for (unsigned type = 0; type < types; ++type) {
    firstHop.push_back(findFirstHop(type));
    derivedWhole.push_back(sumDerivedWhole(type));
    passing.push_back(findPassing(type));
  }
}

ProgramFlows::ProgramFlows(MigrationOp, AnalysisManager &analyses)
    : table(analyses.getAnalysis<TensorTable, MigrationOp>()),
      prev(analyses.getAnalysis<BothHoldings, MigrationOp>().prev),
      curr(analyses.getAnalysis<BothHoldings, MigrationOp>().curr) {
  const auto &programs = analyses.getAnalysis<DevicePrograms, MigrationOp>();
  for (auto [index, program] : llvm::enumerate(programs.getPrograms()))
    addProgram(index, program);
  for (auto &[key, flows] : byKey) {
    for (ItemFlow &flow : flows)
      flow.close(table.getTypeCount());
    items.push_back({key, std::move(flows)});
  }
  byKey.clear();
}

bool ProgramFlows::isInvalidated(
    const AnalysisManager::PreservedAnalyses &preserved) {
  return !arePreserved<ProgramFlows, TensorTable, BothHoldings, DevicePrograms>(
      preserved);
}

Piece ProgramFlows::getWhole(unsigned item) const {
  auto [layer, expert, tensor] = items[item].key;
  return table.getWhole(tensor, layer, expert, Side::Curr);
}

std::optional<unsigned> ProgramFlows::find(const Piece &piece) const {
  auto item = llvm::lower_bound(
      items, keyOf(piece),
      [](const Item &item, const Key &key) { return item.key < key; });
  if (item == items.end() || item->key != keyOf(piece))
    return std::nullopt;
  return item - items.begin();
}

Piece ProgramFlows::sourceOf(const Piece &piece) const {
  Piece source = piece;
  source.tensor = getSource(table, prev, piece.tensor).value_or(piece.tensor);
  return source;
}

ItemFlow &ProgramFlows::flowOf(unsigned program, const Piece &piece) {
  std::vector<ItemFlow> &flows = byKey[keyOf(piece)];
  if (flows.empty() || flows.back().program != program)
    flows.emplace_back().program = program;
  return flows.back();
}

/// The pieces at the front of `pieces` that are of the same tensor.
static ArrayRef<Piece> takeShard(ArrayRef<Piece> pieces) {
  return pieces.take_while(
      [&](const Piece &piece) { return piece.isOfSame(pieces.front()); });
}

/// A whole previous shard that is the whole current one is bound.
void ProgramFlows::addCurr(unsigned program, ArrayRef<Piece> shard,
                           ArrayRef<Piece> prevPieces) {
  const Piece *same = llvm::lower_bound(prevPieces, shard.front());
  ArrayRef<Piece> rest(same, prevPieces.end());
  bool startsThere =
      same == prevPieces.begin() || !std::prev(same)->isOfSame(shard.front());
  bool isBound = startsThere && !rest.empty() && takeShard(rest) == shard;
  ItemFlow &flow = flowOf(program, sourceOf(shard.front()));
  for (const Piece &piece : shard) {
    memories[program].curr += table.getBytes(piece);
    memories[program].gradients += table.getGradientBytes(piece);
    flow.allocated += isBound ? 0 : piece.size();
  }
  if (!isBound)
    return;
  flow.bound = true;
  flow.released = 0;
  flow.releasedPieces.clear();
}

void ProgramFlows::addSteps(unsigned index, const DeviceProgram &program) {
  for (auto [order, instruction] : llvm::enumerate(program.instructions)) {
    int64_t typesBytes = 0, urgentBytes = 0;
    for (unsigned type : instruction.types.set_bits()) {
      typesBytes += table.getTypeBytes(type);
      urgentBytes += table.isDeferred(type) ? 0 : table.getTypeBytes(type);
    }
    ProgramMemory &memory = memories[index];
    for (const Piece &piece : instruction.pieces) {
      if (instruction.action == Action::Send) {
        memory.sent += piece.size() * typesBytes;
        memory.urgentSent += piece.size() * urgentBytes;
      }
      if (instruction.action == Action::Recv) {
        memory.received += piece.size() * typesBytes;
        memory.urgentReceived += piece.size() * urgentBytes;
      }
      const Piece source = sourceOf(piece);
      ItemFlow &flow = flowOf(index, source);
      const bool binds = flow.bound && instruction.action == Action::Refer &&
                         piece.tensor == source.tensor;
      flow.steps.push_back(
          {&instruction, static_cast<unsigned>(order), binds, &piece});
    }
  }
}

void ProgramFlows::addProgram(unsigned index, const DeviceProgram &program) {
  memories.emplace_back();
  SmallVector<Piece, 0> prevPieces, currPieces;
  if (program.prev >= 0)
    prevPieces = prev.getAll(program.prev);
  for (const Piece &piece : prevPieces) {
    memories[index].prev += table.getBytes(piece);
    ItemFlow &flow = flowOf(index, piece);
    flow.released += piece.size();
    flow.releasedPieces.push_back(piece);
  }
  if (program.curr >= 0) {
    currPieces = curr.getAll(program.curr);
    ArrayRef<Piece> rest = currPieces;
    while (!rest.empty()) {
      ArrayRef<Piece> shard = takeShard(rest);
      addCurr(index, shard, prevPieces);
      rest = rest.drop_front(shard.size());
    }
  }
  addSteps(index, program);
}
