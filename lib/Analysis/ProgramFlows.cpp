//===- ProgramFlows.cpp - What programs do to each tensor -----------------===//

#include "etc/Analysis/ProgramFlows.h"

#include "etc/Analysis/Preserved.h"

using namespace etc;
using namespace mlir;

unsigned etc::chunkAxis(const Piece &piece, int64_t chunks) {
  unsigned longest = Piece::Outer;
  for (unsigned axis = 0; axis < Piece::rank(); ++axis) {
    if (piece[axis].size() >= chunks)
      return axis;
    if (piece[axis].size() > piece[longest].size())
      longest = axis;
  }
  return longest;
}

/// Rounded up: a tensor is allocated with its first chunk, so that is never
/// empty.
Span etc::chunkOf(Span whole, int64_t chunk, int64_t chunks) {
  auto positionOf = [&](int64_t number) {
    return whole.begin + static_cast<int64_t>(
                             llvm::divideCeil(whole.size() * number, chunks));
  };
  return {positionOf(chunk), positionOf(chunk + 1)};
}

Piece etc::partOf(const Piece &piece, int64_t chunk, int64_t chunks) {
  const unsigned axis = chunkAxis(piece, chunks);
  Piece part = piece;
  part[axis] = chunkOf(piece[axis], chunk, chunks);
  return part;
}

bool etc::isAlike(const Step &a, const Step &b) {
  const Instruction &one = *a.instruction, &other = *b.instruction;
  if (&one != &other &&
      std::tie(one.action, one.hop, one.peer, one.types, one.transit) !=
          std::tie(other.action, other.hop, other.peer, other.types,
                   other.transit))
    return false;
  return llvm::all_of(llvm::seq(Piece::rank()), [&](unsigned axis) {
    return (*a.piece)[axis].size() == (*b.piece)[axis].size();
  });
}

int64_t etc::elementsOf(const Step &step, const Portion &portion) {
  if (portion.derives || !step.isOf(portion.type) ||
      step.getHop() != portion.hop)
    return 0;
  const Piece &piece = *step.piece;
  if (portion.chunks == 1)
    return piece.size();
  const unsigned axis = chunkAxis(piece, portion.chunks);
  int64_t elements = chunkOf(piece[axis], portion.chunk, portion.chunks).size();
  for (unsigned other = 0; other < Piece::rank(); ++other)
    elements *= other == axis ? 1 : piece[other].size();
  return elements;
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

bool ItemFlow::isLike(
    const ItemFlow &other,
    llvm::function_ref<bool(const Step &, const Step &)> steps) const {
  return std::tie(program, allocated, released, ofTypes, later) ==
             std::tie(other.program, other.allocated, other.released,
                      other.ofTypes, other.later) &&
         llvm::equal(this->steps, other.steps, steps);
}

int64_t ItemFlow::getAllocated(const Portion &portion) const {
  if (portion.derives)
    return find(portion.type).derivedWhole;
  const OfType it = find(portion.type);
  if (portion.chunk != 0)
    return 0;
  const bool isFirst = portion.hop == it.firstHop;
  int64_t elements = isFirst ? allocated - it.derivedWhole : 0;
  for (const Later &tensor : later)
    if (tensor.type == portion.type) {
      elements -= isFirst ? tensor.elements : 0;
      elements += tensor.hop == portion.hop ? tensor.elements : 0;
    }
  return elements;
}

/// What the steps write of a tensor is all of it.
void ItemFlow::addLater(unsigned type) {
  struct Written {
    std::optional<unsigned> hop;
    int64_t elements = 0;
  };
  std::map<unsigned, Written> tensors;
  for (const Step &step : steps) {
    if (!step.isOf(type) || step.isSend() || step.isTransit())
      continue;
    Written &written = tensors[step.piece->tensor];
    written.elements += step.piece->size();
    if (step.writesMoved())
      written.hop =
          std::min(written.hop.value_or(step.getHop()), step.getHop());
  }
  for (const auto &[tensor, written] : tensors)
    if (written.hop && *written.hop > find(type).firstHop)
      later.push_back({type, *written.hop, written.elements});
}

unsigned ItemFlow::getLastHop(unsigned type) const {
  unsigned last = 0;
  if (lastHop == 0)
    return last;
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

/// Most flows bring what they bring at once, and derive and pass on nothing.
void ItemFlow::close(unsigned types) {
  for (const Step &step : steps)
    lastHop = std::max(lastHop, step.getHop());
  const bool isPlain = llvm::none_of(steps, [](const Step &step) {
    return step.isDerive() || step.isTransit();
  });
  if (isPlain && lastHop == 0)
    return;
  for (unsigned type = 0; type < types; ++type)
    ofTypes.push_back(
        {findFirstHop(type), sumDerivedWhole(type), findPassing(type)});
  const bool hasTwins = llvm::any_of(steps, [&](const Step &step) {
    return step.piece->tensor != steps.front().piece->tensor;
  });
  for (unsigned type = 0; hasTwins && type < types; ++type)
    addLater(type);
  if (llvm::all_of(ofTypes, [](const OfType &it) { return it == OfType(); }))
    ofTypes.clear();
}

ProgramFlows::ProgramFlows(MigrationOp, AnalysisManager &analyses)
    : table(analyses.getAnalysis<TensorTable, MigrationOp>()),
      prev(analyses.getAnalysis<BothHoldings, MigrationOp>().prev),
      curr(analyses.getAnalysis<BothHoldings, MigrationOp>().curr) {
  const auto &programs = analyses.getAnalysis<DevicePrograms, MigrationOp>();
  llvm::append_range(itemOf, llvm::seq(table.size()));
  for (const DeviceProgram &program : programs.getPrograms())
    addJoined(program);
  for (auto [index, program] : llvm::enumerate(programs.getPrograms()))
    addProgram(index, program);
  numbers.clear();
  llvm::sort(items, [&](const Item &a, const Item &b) {
    return orderOf(a.key) < orderOf(b.key);
  });
  for (Item &item : items) {
    item.flows.shrink_to_fit();
    for (ItemFlow &flow : item.flows)
      flow.close(table.getTypeCount());
  }
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
  auto item = llvm::lower_bound(items, keyOf(piece),
                                [&](const Item &item, const Key &key) {
                                  return orderOf(item.key) < orderOf(key);
                                });
  if (item == items.end() || item->key != keyOf(piece))
    return std::nullopt;
  return item - items.begin();
}

/// The twins of what is made from one of them go by the first of them that is
/// of the previous side.
void ProgramFlows::addJoined(const DeviceProgram &program) {
  for (const Instruction &instruction : program.instructions) {
    const bool reads =
        instruction.action == Action::Refer ||
        (instruction.action == Action::Send && instruction.hop == 0);
    for (const Piece &piece : instruction.pieces) {
      const ArrayRef<unsigned> twins = table.getTwins(piece.tensor);
      if (!reads || twins.empty() ||
          findRead(table, prev, program.prev, piece) == piece.tensor)
        continue;
      const SmallVector<unsigned, 2> sources =
          getSources(table, prev, piece.tensor);
      const unsigned item = *llvm::min_element(sources);
      for (unsigned twin : twins)
        itemOf[twin] = item;
      itemOf[piece.tensor] = item;
    }
  }
}

Piece ProgramFlows::ofItem(const Piece &piece) const {
  Piece source = piece;
  source.tensor = itemOf[piece.tensor];
  return source;
}

ItemFlow &ProgramFlows::flowOf(unsigned program, const Piece &piece) {
  auto [number, isNew] = numbers.try_emplace(keyOf(piece), items.size());
  if (isNew)
    items.push_back({keyOf(piece), {}});
  std::vector<ItemFlow> &flows = items[number->second].flows;
  if (flows.empty() || flows.back().program != program)
    flows.emplace_back().program = program;
  return flows.back();
}

/// The pieces at the front of `pieces` that are of the same tensor.
static ArrayRef<Piece> takeShard(ArrayRef<Piece> pieces) {
  return pieces.take_while(
      [&](const Piece &piece) { return piece.isOfSame(pieces.front()); });
}

/// Calls a function with the pieces of each tensor that a role holds. A tensor
/// is held in ranges or by pools, never both.
static void forShards(const Holdings &holdings, int64_t role,
                      llvm::function_ref<void(ArrayRef<Piece>)> function) {
  if (role < 0)
    return;
  for (ArrayRef<Piece> rest :
       {holdings.getShared(holdings.getPool(role)), holdings.getOwn(role)})
    while (!rest.empty()) {
      ArrayRef<Piece> shard = takeShard(rest);
      function(shard);
      rest = rest.drop_front(shard.size());
    }
}

/// A whole previous shard that is the whole current one is bound.
bool ProgramFlows::isBound(const DeviceProgram &program,
                           const Piece &piece) const {
  if (program.prev < 0 || program.curr < 0)
    return false;
  const ArrayRef<Piece> shard = prev.find(program.prev, piece.tensor, piece);
  return !shard.empty() &&
         curr.find(program.curr, piece.tensor, piece) == shard;
}

void ProgramFlows::addPrev(unsigned index, const DeviceProgram &program,
                           ArrayRef<Piece> shard) {
  ItemFlow &flow = flowOf(index, ofItem(shard.front()));
  for (const Piece &piece : shard)
    memories[index].prev += table.getBytes(piece);
  if (isBound(program, shard.front()))
    return;
  for (const Piece &piece : shard)
    flow.released += piece.size();
  if (flow.releasedPieces.empty()) {
    flow.releasedPieces = shard;
    return;
  }
  SmallVector<Piece, 0> &all = several.emplace_back(flow.releasedPieces);
  llvm::append_range(all, shard);
  flow.releasedPieces = all;
}

void ProgramFlows::addCurr(unsigned index, const DeviceProgram &program,
                           ArrayRef<Piece> shard) {
  const bool isKept = isBound(program, shard.front());
  ItemFlow &flow = flowOf(index, ofItem(shard.front()));
  for (const Piece &piece : shard) {
    memories[index].curr += table.getBytes(piece);
    memories[index].gradients += table.getGradientBytes(piece);
    flow.allocated += isKept ? 0 : piece.size();
  }
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
      ItemFlow &flow = flowOf(index, ofItem(piece));
      const bool binds =
          instruction.action == Action::Refer && isBound(program, piece);
      flow.steps.push_back(
          {&instruction, static_cast<unsigned>(order), binds, &piece});
    }
  }
}

void ProgramFlows::addProgram(unsigned index, const DeviceProgram &program) {
  memories.emplace_back();
  forShards(prev, program.prev,
            [&](ArrayRef<Piece> shard) { addPrev(index, program, shard); });
  forShards(curr, program.curr,
            [&](ArrayRef<Piece> shard) { addCurr(index, program, shard); });
  addSteps(index, program);
}
