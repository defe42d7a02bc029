//===- ProgramFlows.cpp - What programs do to each tensor -----------------===//

#include "etc/Analysis/ProgramFlows.h"

using namespace etc;
using namespace mlir;

/// Elements of a transfer that are in a portion.
static int64_t elementsOf(const Step &step, const Portion &portion) {
  if (portion.derives || !step.types.test(portion.type) ||
      step.hop != portion.hop)
    return 0;
  return step.getPart(portion.chunk, portion.chunks).size();
}

/// Along the outermost axis that is long enough, so that the parts of what is
/// contiguous are contiguous; where none is, along the longest.
static Span Piece::*chunkAxis(const Piece &piece, int64_t chunks) {
  Span Piece::*longest = &Piece::outer;
  for (Span Piece::*axis : {&Piece::outer, &Piece::cut, &Piece::inner}) {
    if ((piece.*axis).size() >= chunks)
      return axis;
    if ((piece.*axis).size() > (piece.*longest).size())
      longest = axis;
  }
  return longest;
}

Piece Step::getPart(int64_t chunk, int64_t chunks) const {
  Span Piece::*axis = chunkAxis(piece, chunks);
  Piece part = piece;
  Span whole = piece.*axis;
  // Rounded up: a tensor is allocated with its first chunk, so that is never
  // empty.
  auto positionOf = [&](int64_t number) {
    return whole.begin + static_cast<int64_t>(
                             llvm::divideCeil(whole.size() * number, chunks));
  };
  part.*axis = {positionOf(chunk), positionOf(chunk + 1)};
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
    return step.isDerive() && step.types.test(type);
  });
}

int64_t ItemFlow::sumDerivedWhole(unsigned type) const {
  int64_t elements = 0;
  for (const Step &step : steps) {
    if (!step.isDerive() || !step.types.test(type))
      continue;
    bool isWritten = llvm::any_of(steps, [&](const Step &other) {
      return !other.isSend() && !other.isDerive() && other.types.test(type) &&
             other.piece.tensor == step.piece.tensor;
    });
    elements += isWritten ? 0 : step.piece.size();
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
    if (step.types.test(type))
      last = std::max(last, step.hop);
  return last;
}

unsigned ItemFlow::findFirstHop(unsigned type) const {
  std::optional<unsigned> first;
  for (const Step &step : steps)
    if (!step.isSend() && !step.isDerive() && step.types.test(type))
      first = std::min(first.value_or(step.hop), step.hop);
  return first.value_or(0);
}

void ItemFlow::close(unsigned types) {
  for (unsigned type = 0; type < types; ++type) {
    firstHop.push_back(findFirstHop(type));
    derivedWhole.push_back(sumDerivedWhole(type));
  }
}

ProgramFlows::ProgramFlows(MigrationOp migration)
    : migration(migration), table(migration),
      prev(migration, table, Side::Prev), curr(migration, table, Side::Curr) {
  for (ProgramOp program : migration.getOps<ProgramOp>())
    addProgram(program);
  for (auto &[key, flows] : byKey) {
    for (ItemFlow &flow : flows)
      flow.close(table.getTypeCount());
    items.push_back({std::get<unsigned>(key), std::move(flows)});
  }
}

Piece ProgramFlows::sourceOf(const Piece &piece) const {
  Piece source = piece;
  source.tensor = getSource(table, prev, piece.tensor).value_or(piece.tensor);
  return source;
}

ItemFlow &ProgramFlows::flowOf(unsigned program, const Piece &piece) {
  std::vector<ItemFlow> &flows =
      byKey[{piece.layer, piece.expert, piece.tensor}];
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
    flow.allocated += isBound ? 0 : piece.size();
  }
  if (!isBound)
    return;
  flow.bound = true;
  flow.released = 0;
  flow.releasedPieces.clear();
}

void ProgramFlows::addSteps(ProgramOp program) {
  unsigned index = programs.size() - 1, order = 0;
  for (auto op : program.getBody().getOps<InstructionOpInterface>()) {
    llvm::SmallBitVector types = table.getTypes(op.getWt());
    auto transfer = dyn_cast<TransferOpInterface>(op.getOperation());
    const unsigned hop = transfer ? transfer.getHop().value_or(0) : 0;
    int64_t typesBytes = 0;
    for (unsigned type : types.set_bits())
      typesBytes += table.getTypeBytes(type);
    for (const Piece &piece : table.expand(op)) {
      if (isa<SendOp>(*op))
        memories[index].sent += piece.size() * typesBytes;
      if (isa<RecvOp>(*op))
        memories[index].received += piece.size() * typesBytes;
      Piece source = sourceOf(piece);
      ItemFlow &flow = flowOf(index, source);
      bool binds = flow.bound && isa<ReferOp>(op.getOperation()) &&
                   piece.tensor == source.tensor;
      flow.steps.push_back({op, order, types, piece, binds, hop});
    }
    ++order;
  }
}

void ProgramFlows::addProgram(ProgramOp program) {
  unsigned index = programs.size();
  programs.push_back(program);
  memories.emplace_back();
  SmallVector<Piece, 0> prevPieces, currPieces;
  if (program.getPrev())
    prevPieces = prev.getAll(prev.getIndex(*program.getPrev()));
  for (const Piece &piece : prevPieces) {
    memories[index].prev += table.getBytes(piece);
    ItemFlow &flow = flowOf(index, piece);
    flow.released += piece.size();
    flow.releasedPieces.push_back(piece);
  }
  if (program.getCurr()) {
    currPieces = curr.getAll(curr.getIndex(*program.getCurr()));
    ArrayRef<Piece> rest = currPieces;
    while (!rest.empty()) {
      ArrayRef<Piece> shard = takeShard(rest);
      addCurr(index, shard, prevPieces);
      rest = rest.drop_front(shard.size());
    }
  }
  addSteps(program);
}
