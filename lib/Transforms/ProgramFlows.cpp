//===- ProgramFlows.cpp - What programs do to each tensor -----------------===//

#include "ProgramFlows.h"

using namespace etc;
using namespace mlir;

/// Elements of a transfer that are in a portion.
static int64_t elementsOf(const Step &step, const Portion &portion) {
  if (portion.derives || !step.types.test(portion.type))
    return 0;
  return step.elements / step.piece.size() *
         step.getPart(portion.chunk, portion.chunks).size();
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

/// Elements of the current tensors that nothing but derives writes.
int64_t ItemFlow::getDerivedWhole(unsigned type) const {
  int64_t elements = 0;
  for (const Step &step : steps) {
    if (!step.isDerive() || !step.types.test(type))
      continue;
    bool isWritten = llvm::any_of(steps, [&](const Step &other) {
      return !other.isSend() && !other.isDerive() && other.types.test(type) &&
             other.piece.tensor == step.piece.tensor;
    });
    elements += isWritten ? 0 : step.elements;
  }
  return elements;
}

int64_t ItemFlow::getAllocated(const Portion &portion) const {
  if (portion.derives)
    return getDerivedWhole(portion.type);
  return portion.isFirst() ? allocated - getDerivedWhole(portion.type) : 0;
}

ProgramFlows::ProgramFlows(MigrationOp migration)
    : migration(migration), table(migration),
      prev(migration, table, Side::Prev), curr(migration, table, Side::Curr) {
  for (ProgramOp program : migration.getOps<ProgramOp>())
    addProgram(program);
  for (auto &[key, flows] : byKey)
    items.push_back(std::move(flows));
}

ItemFlow &ProgramFlows::flowOf(unsigned program, unsigned tensor,
                               int64_t layer) {
  llvm::SmallVector<ItemFlow> &flows = byKey[{layer, tensor}];
  if (flows.empty() || flows.back().program != program)
    flows.emplace_back().program = program;
  return flows.back();
}

/// The whole previous shard is the whole current one.
bool ProgramFlows::isBound(const Piece &piece,
                           ArrayRef<Piece> prevPieces) const {
  return llvm::binary_search(prevPieces, piece);
}

void ProgramFlows::addCurr(unsigned program, const Piece &piece,
                           ArrayRef<Piece> prevPieces) {
  memories[program].curr +=
      table.getElements(piece) * table.getBytesPerElement();
  unsigned source = getSource(table, prev, piece.tensor).value_or(piece.tensor);
  ItemFlow &flow = flowOf(program, source, piece.layer);
  if (isBound(piece, prevPieces)) {
    flow.bound = true;
    flow.released = 0;
    flow.releasedPieces.clear();
  } else {
    flow.allocated += table.getElements(piece);
  }
}

llvm::SmallBitVector ProgramFlows::typesOf(InstructionOpInterface op) const {
  llvm::SmallBitVector types(migration.getTypes().size());
  for (auto name : op.getWt().getAsRange<StringAttr>())
    types.set(*migration.lookupType(name));
  return types;
}

void ProgramFlows::addSteps(ProgramOp program) {
  unsigned index = programs.size() - 1, order = 0;
  for (auto op : program.getBody().getOps<InstructionOpInterface>()) {
    memories[index].sends |= isa<SendOp>(*op);
    memories[index].receives |= isa<RecvOp>(*op);
    llvm::SmallBitVector types = typesOf(op);
    for (const Piece &piece : table.expand(op.getWid())) {
      unsigned source =
          getSource(table, prev, piece.tensor).value_or(piece.tensor);
      ItemFlow &flow = flowOf(index, source, piece.layer);
      bool binds = flow.bound && isa<ReferOp>(op.getOperation()) &&
                   piece.tensor == source;
      flow.steps.push_back(
          {op, order, types, piece, table.getElements(piece), binds});
    }
    ++order;
  }
}

void ProgramFlows::addProgram(ProgramOp program) {
  unsigned index = programs.size();
  programs.push_back(program);
  memories.emplace_back();
  ArrayRef<Piece> prevPieces;
  if (program.getPrev())
    prevPieces = prev[prev.getIndex(*program.getPrev())];
  for (const Piece &piece : prevPieces) {
    memories[index].prev +=
        table.getElements(piece) * table.getBytesPerElement();
    ItemFlow &flow = flowOf(index, piece.tensor, piece.layer);
    flow.released += table.getElements(piece);
    flow.releasedPieces.push_back(piece);
  }
  if (program.getCurr())
    for (const Piece &piece : curr[curr.getIndex(*program.getCurr())])
      addCurr(index, piece, prevPieces);
  addSteps(program);
}
