//===- RoundWriter.cpp - Instructions into rounds -------------------------===//

#include "RoundWriter.h"

using namespace etc;
using namespace mlir;

/// The order of the releases that end a round.
static constexpr unsigned releaseOrder = ~0u, passedOnOrder = ~0u - 1;

static Instruction makeRelease(bool transit) {
  return {Action::Release, /*hop=*/0, /*peer=*/0, {}, {}, transit};
}

RoundWriter::RoundWriter(const ProgramFlows &flows,
                         ArrayRef<DeviceProgram> programs)
    : flows(flows), programs(programs), folded(flows.getTable()),
      shares(programs.size()), bytes(programs.size()) {}

const Piece *RoundWriter::findPart(const Step &step, const Portion &portion) {
  if (!step.isTransfer() || portion.chunks == 1)
    return step.piece;
  const Piece *&part = partOfWhole[{step.piece, portion.chunk, portion.chunks}];
  if (!part)
    part =
        &parts.emplace_back(partOf(*step.piece, portion.chunk, portion.chunks));
  return part;
}

/// Whether a step is done with a portion.
static bool isIn(const Step &step, const Portion &portion) {
  if (!step.isOf(portion.type) || step.isDerive() != portion.derives)
    return false;
  return portion.derives || step.isTransfer() ? step.getHop() == portion.hop
                                              : portion.isFirst();
}

void RoundWriter::add(unsigned item, const Portion &portion, int64_t round) {
  const unsigned type = portion.type;
  const int64_t size = flows.getTable().getTypeBytes(type);
  if (flows.getTable().isDeferred(type))
    firstDeferred = std::min(firstDeferred, round);
  for (const ItemFlow &flow : flows.getFlows(item)) {
    std::vector<Share> &list = shares[flow.program];
    SmallVector<Bytes> &ofRounds = bytes[flow.program];
    if (round >= std::ssize(ofRounds))
      ofRounds.resize(round + 1);
    Bytes &account = ofRounds[round];
    account.sent += flow.getSent(portion) * size;
    account.received += flow.getReceived(portion) * size;
    account.allocated += flow.getAllocated(portion) * size;
    account.released += flow.getReleased(portion) * size;
    account.arrived += flow.getArrived(portion) * size;
    account.passedOn += flow.getPassedOn(portion) * size;
    for (const Step &step : flow.steps) {
      if (!isIn(step, portion))
        continue;
      const Piece *part = findPart(step, portion);
      if (part->size() > 0)
        list.push_back({step.binds ? 0 : round, step.order, type, part});
    }
    if (portion.isLast())
      for (const Piece &piece : flow.releasedPieces)
        list.push_back({round, releaseOrder, type, &piece});
    if (flow.getPassedOn(portion) > 0)
      for (const Step &step : flow.steps)
        if (step.isRecv() && step.isTransit() && step.isOf(type))
          list.push_back({round, passedOnOrder, type, step.piece});
  }
}

/// The elements at the front that have the first one's `key`.
template <typename T, typename KeyFn>
static ArrayRef<T> takeAlike(ArrayRef<T> list, KeyFn key) {
  return list.take_while(
      [&](const T &element) { return key(element) == key(list.front()); });
}

static void createOp(OpBuilder &builder, ProgramOp program,
                     const Instruction &instruction, ArrayAttr ids,
                     ArrayAttr types) {
  const Location loc = program.getLoc();
  Value self = program.getSelf();
  Value peer = program.getBody().getArgument(instruction.peer);
  IntegerAttr hop = instruction.hop ? builder.getI64IntegerAttr(instruction.hop)
                                    : IntegerAttr();
  const bool transit = instruction.transit;
  switch (instruction.action) {
  case Action::Release:
    ReleaseOp::create(builder, loc, ids, types, self, transit);
    return;
  case Action::Refer:
    ReferOp::create(builder, loc, ids, types, self);
    return;
  case Action::Derive:
    DeriveOp::create(builder, loc, ids, types, self);
    return;
  case Action::Zero:
    ZeroOp::create(builder, loc, ids, types, self);
    return;
  case Action::Send:
    SendOp::create(builder, loc, ids, types, self, peer, hop, transit);
    return;
  case Action::Recv:
    RecvOp::create(builder, loc, ids, types, peer, self, hop, transit);
    return;
  }
}

/// One instruction for all types that do the same.
void RoundWriter::writeStep(OpBuilder &builder, ProgramOp program,
                            const Instruction &instruction,
                            ArrayRef<Share> shares) {
  SmallVector<std::pair<FoldedIds::Pieces, llvm::SmallBitVector>> alike;
  for (ArrayRef<Share> rest = shares; !rest.empty();) {
    ArrayRef<Share> ofType =
        takeAlike(rest, [](const Share &share) { return share.type; });
    rest = rest.drop_front(ofType.size());
    auto isSame = [](const Piece *piece, const Share &share) {
      return *piece == *share.piece;
    };
    auto it = llvm::find_if(alike, [&](const auto &entry) {
      return llvm::equal(entry.first, ofType, isSame);
    });
    if (it == alike.end()) {
      it = &alike.emplace_back();
      it->second.resize(flows.getTable().getTypeCount());
      for (const Share &share : ofType)
        it->first.push_back(share.piece);
    }
    it->second.set(ofType.front().type);
  }
  for (auto &[pieces, types] : alike) {
    const FoldedIds::Names names = folded.fold(pieces, types);
    createOp(builder, program, instruction, names.ids, names.types);
  }
}

void RoundWriter::write(unsigned index, ProgramOp op) {
  const std::vector<Instruction> &instructions = programs[index].instructions;
  // Shares come item by item, which both ends of a message keep.
  llvm::stable_sort(shares[index], [](const Share &a, const Share &b) {
    return a.key() < b.key();
  });
  OpBuilder builder = OpBuilder::atBlockEnd(&op.getBody().front());
  RoundOp round;
  for (ArrayRef<Share> rest = shares[index]; !rest.empty();) {
    ArrayRef<Share> step = takeAlike(rest, [](const Share &share) {
      return std::pair(share.round, share.order);
    });
    rest = rest.drop_front(step.size());
    const auto [number, order] =
        std::pair(step.front().round, step.front().order);
    if (!round || static_cast<int64_t>(round.getIndex()) != number) {
      builder.setInsertionPointToEnd(&op.getBody().front());
      round = RoundOp::create(builder, op.getLoc(), number,
                              /*deferred=*/number >= firstDeferred);
      builder.setInsertionPointToEnd(&round.getBody().emplaceBlock());
    }
    const bool isRelease = order >= passedOnOrder;
    writeStep(builder, op,
              isRelease ? makeRelease(order == passedOnOrder)
                        : instructions[order],
              step);
  }
  shares[index] = {}; // its memory serves the next one
  statePeaks(index, op);
}
