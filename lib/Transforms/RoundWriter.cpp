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
      placedOf(flows.getItemCount()), flowsOf(programs.size()) {
  for (unsigned item = 0; item < flows.getItemCount(); ++item)
    for (auto [number, flow] : llvm::enumerate(flows.getFlows(item)))
      flowsOf[flow.program].push_back({item, static_cast<unsigned>(number)});
}

void RoundWriter::add(unsigned item, const Portion &portion, int64_t round) {
  if (flows.getTable().isDeferred(portion.type))
    firstDeferred = std::min(firstDeferred, round);
  placedOf[item].push_back({portion, round});
}

size_t RoundWriter::findParts(const Piece &whole, int64_t chunks) {
  auto [first, isNew] = firstPart.try_emplace({&whole, chunks}, parts.size());
  if (isNew)
    for (int64_t number = 0; number < chunks; ++number)
      parts.push_back(&*distinct.insert(partOf(whole, number, chunks)).first);
  return first->second;
}

/// Whether a step is done with a portion.
static bool isIn(const Step &step, const Portion &portion) {
  if (!step.isOf(portion.type) || step.isDerive() != portion.derives)
    return false;
  return portion.derives || step.isTransfer() ? step.getHop() == portion.hop
                                              : portion.isFirst();
}

RoundWriter::Bytes &RoundWriter::accountOf(int64_t round) {
  if (round >= std::ssize(bytes))
    bytes.resize(round + 1);
  return bytes[round];
}

void RoundWriter::addFlow(const ItemFlow &flow, ArrayRef<Placed> all) {
  // Most portions are cut like those before.
  SmallVector<std::pair<int64_t, size_t>, 8> lastParts(flow.steps.size());
  for (const auto &[portion, round] : all) {
    const unsigned type = portion.type;
    const int64_t size = flows.getTable().getTypeBytes(type),
                  passedOn = flow.getPassedOn(portion);
    Bytes &account = accountOf(round);
    account.allocated += flow.getAllocated(portion) * size;
    account.released += flow.getReleased(portion) * size;
    account.arrived += flow.getArrived(portion) * size;
    account.passedOn += passedOn * size;
    for (auto [step, last] : llvm::zip_equal(flow.steps, lastParts)) {
      if (!isIn(step, portion))
        continue;
      const bool isCut = step.isTransfer();
      const int64_t chunks = isCut ? portion.chunks : 1;
      if (last.first != chunks)
        last = {chunks, findParts(*step.piece, chunks)};
      const Piece *part = parts[last.second + (isCut ? portion.chunk : 0)];
      const int64_t elements = part->size();
      if (elements == 0)
        continue;
      account.sent += step.isSend() ? elements * size : 0;
      account.received += step.isRecv() ? elements * size : 0;
      shares.push_back({step.binds ? 0 : round, step.order, type, part});
    }
    if (portion.isLast())
      for (const Piece &piece : flow.releasedPieces)
        shares.push_back({round, releaseOrder, type, findWhole(piece)});
    if (passedOn > 0)
      for (const Step &step : flow.steps)
        if (step.isRecv() && step.isTransit() && step.isOf(type))
          shares.push_back(
              {round, passedOnOrder, type, findWhole(*step.piece)});
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
      return piece == share.piece;
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
  shares.clear();
  bytes.clear();
  for (const auto &[item, number] : flowsOf[index])
    addFlow(flows.getFlows(item)[number], placedOf[item]);
  // Shares come item by item, which both ends of a message keep.
  llvm::stable_sort(
      shares, [](const Share &a, const Share &b) { return a.key() < b.key(); });
  OpBuilder builder = OpBuilder::atBlockEnd(&op.getBody().front());
  RoundOp round;
  for (ArrayRef<Share> rest = shares; !rest.empty();) {
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
  statePeaks(index, op);
}
