//===- PlanReplay.cpp - Programs replayed against lib/Layout --------------===//

#include "PlanReplay.h"

using namespace etc;
using namespace mlir;

ProgramReplay::ProgramReplay(ProgramOp program, const TensorTable &table,
                             const LayoutOracle &oracle)
    : program(program), table(table), oracle(oracle),
      migration(program->getParentOfType<MigrationOp>()),
      sends(program.getBindings().size()), recvs(program.getBindings().size()) {
  for (auto [type, state] :
       llvm::enumerate(migration.getTypes().getAsRange<StateAttr>())) {
    typeBytes.push_back(state.getBytes());
    sourceTypes.push_back(migration.getDerivationSource(type));
  }
  auto roleIndex = [&](Side side, RoleAttr role) {
    return role.getStage() * migration.getParallel(side).getTp() +
           role.getSlice();
  };
  if (program.getPrev())
    prev =
        oracle.holdings(Side::Prev, roleIndex(Side::Prev, *program.getPrev()));
  if (program.getCurr())
    curr =
        oracle.holdings(Side::Curr, roleIndex(Side::Curr, *program.getCurr()));
}

int64_t ProgramReplay::bytesOf(const Piece &piece, unsigned type) const {
  return table.getElements(piece) * typeBytes[type];
}

const Piece *ProgramReplay::findPrev(unsigned tensor, int64_t layer) const {
  auto it = llvm::lower_bound(prev, Piece{tensor, layer, 0, 0});
  return it != prev.end() && it->tensor == tensor && it->layer == layer
             ? &*it
             : nullptr;
}

LogicalResult ProgramReplay::read(InstructionOpInterface op, int64_t round,
                                  unsigned type, Piece piece) {
  piece.tensor = oracle.sourceOf(piece.tensor);
  const Piece *held = findPrev(piece.tensor, piece.layer);
  if (!held || piece.begin < held->begin || piece.end > held->end)
    return op->emitError() << "reads '" << table.getName(piece) << "' ["
                           << piece.begin << ":" << piece.end
                           << "], which the device does not hold";
  State &state = states[keyOf(type, piece)];
  if (round > state.lastRead) {
    state.lastRead = round;
    state.reader = op;
  }
  return success();
}

/// Rounds are replayed in order, so all writes of earlier ones are known;
/// coverage says that they are disjoint.
LogicalResult ProgramReplay::derive(InstructionOpInterface op, int64_t round,
                                    unsigned type, const Piece &piece) {
  int64_t written = 0;
  for (const Write &write : states[keyOf(*sourceTypes[type], piece)].writes)
    if (write.round < round)
      written += std::max<int64_t>(0, std::min(write.end, piece.end) -
                                          std::max(write.begin, piece.begin));
  if (written >= piece.size())
    return success();
  auto nameOf = [&](unsigned index) {
    return cast<StateAttr>(migration.getTypes()[index]).getName().getValue();
  };
  return op->emitError() << "derives " << nameOf(type) << " of '"
                         << table.getName(piece) << "' [" << piece.begin << ":"
                         << piece.end << "] in round " << round
                         << ", before which its " << nameOf(*sourceTypes[type])
                         << " is not complete";
}

LogicalResult ProgramReplay::release(InstructionOpInterface op, int64_t round,
                                     unsigned type, Piece piece) {
  const Piece *held = findPrev(piece.tensor, piece.layer);
  if (!held || *held != piece)
    return op->emitError() << "releases '" << table.getName(piece)
                           << "', of which the device holds something else";
  State &state = states[keyOf(type, piece)];
  if (state.released >= 0)
    return op->emitError() << "releases '" << table.getName(piece)
                           << "' a second time";
  state.released = round;
  return success();
}

LogicalResult ProgramReplay::replayPiece(InstructionOpInterface op,
                                         int64_t round, unsigned type,
                                         Piece piece) {
  auto transfer = dyn_cast<TransferOpInterface>(op.getOperation());
  if (isa<ReleaseOp>(op.getOperation()))
    return release(op, round, type, piece);
  if (transfer) {
    unsigned peer = cast<BlockArgument>(transfer.getPeer()).getArgNumber();
    bool isSend = isa<SendOp>(op.getOperation());
    (isSend ? sends : recvs)[peer].push_back(
        {round, type, piece, transfer.getTied()});
    if (isSend)
      return read(op, round, type, piece);
  }
  State &state = states[keyOf(type, piece)];
  state.writes.push_back({piece.begin, piece.end, round, op});
  if (isa<DeriveOp>(op.getOperation()))
    return derive(op, round, type, piece);
  if (isa<ZeroOp>(op.getOperation()))
    zeroes.push_back({op, piece});
  if (!isa<ReferOp>(op.getOperation()))
    return success();
  if (!sourceTypes[type])
    keptBytes += bytesOf(piece, type);
  const Piece *held = findPrev(piece.tensor, piece.layer);
  if (held && *held == piece && llvm::is_contained(curr, piece))
    state.bound = round;
  return read(op, round, type, piece);
}

LogicalResult ProgramReplay::replay(InstructionOpInterface op, int64_t round) {
  SmallVector<Piece> pieces = table.expand(op.getWid());
  for (auto name : op.getWt().getAsRange<StringAttr>())
    for (const Piece &piece : pieces)
      if (failed(replayPiece(op, round, *migration.lookupType(name), piece)))
        return failure();
  return success();
}

LogicalResult ProgramReplay::checkCovered(const Piece &wanted, unsigned type) {
  State &state = states[keyOf(type, wanted)];
  StringRef typeName =
      cast<StateAttr>(migration.getTypes()[type]).getName().getValue();
  llvm::sort(state.writes,
             [](const Write &a, const Write &b) { return a.begin < b.begin; });
  int64_t next = wanted.begin;
  for (const Write &write : state.writes) {
    if (write.begin < next || write.end > wanted.end)
      return write.op->emitError()
             << "writes " << typeName << " of '" << table.getName(wanted)
             << "' [" << write.begin << ":" << write.end << "] "
             << (write.begin < wanted.begin || write.end > wanted.end
                     ? "outside of the role's"
                     : "a second time");
    if (write.begin > next)
      break;
    next = write.end;
  }
  if (next != wanted.end)
    return program.emitError()
           << "never writes " << typeName << " of '" << table.getName(wanted)
           << "' from position " << next << " on, of [" << wanted.begin << ":"
           << wanted.end << "]";
  return success();
}

LogicalResult ProgramReplay::checkCoverage() {
  size_t wanted = 0, written = 0;
  for (unsigned type = 0; type < migration.getTypes().size(); ++type)
    for (const Piece &piece : curr) {
      if (failed(checkCovered(piece, type)))
        return failure();
      ++wanted;
    }
  for (auto &[key, state] : states)
    written += !state.writes.empty();
  if (written != wanted)
    return program.emitError()
           << "writes " << written << " tensors, its role has " << wanted;
  return success();
}

LogicalResult ProgramReplay::checkLiveness() {
  for (auto &[key, state] : states) {
    if (state.released < 0)
      continue;
    if (state.bound >= 0)
      return program.emitError()
             << "releases '"
             << table.getName({key.second.second, key.second.first, 0, 0})
             << "', whose memory the current state is bound to";
    if (state.lastRead > state.released)
      return state.reader->emitError()
             << "reads '"
             << table.getName({key.second.second, key.second.first, 0, 0})
             << "' in round " << state.lastRead
             << ", after its release in round " << state.released;
  }
  return success();
}

LogicalResult ProgramReplay::checkZeroes() const {
  for (auto [op, piece] : zeroes) {
    unsigned source = oracle.sourceOf(piece.tensor);
    int64_t known =
        oracle.isOnPrev(source) ? table.getExtent(source, Side::Prev) : 0;
    if (piece.begin < known)
      return InstructionOpInterface(op)->emitError()
             << "zeroes '" << table.getName(piece) << "' [" << piece.begin
             << ":" << piece.end
             << "], of which the previous state has [0:" << known << "]";
  }
  return success();
}

LogicalResult ProgramReplay::checkPeaks() {
  std::map<int64_t, int64_t> taken, freed, sent, received; // by round
  int64_t live = 0, total = 0;
  for (unsigned type = 0; type < migration.getTypes().size(); ++type) {
    for (const Piece &piece : prev) {
      live += bytesOf(piece, type);
      if (State &state = states[keyOf(type, piece)]; state.released >= 0)
        freed[state.released] += bytesOf(piece, type);
    }
    for (const Piece &piece : curr) {
      State &state = states[keyOf(type, piece)];
      if (state.bound >= 0)
        continue;
      auto first =
          llvm::min_element(state.writes, [](const Write &a, const Write &b) {
            return a.round < b.round;
          });
      taken[first->round] += bytesOf(piece, type);
      total += bytesOf(piece, type);
    }
  }
  for (auto *side : {&sends, &recvs})
    for (ArrayRef<Message> messages : *side)
      for (const Message &message : messages)
        (side == &sends ? sent : received)[message.round] +=
            bytesOf(message.piece, message.type);
  auto busiest = [](const std::map<int64_t, int64_t> &bytes) {
    int64_t most = 0;
    for (auto [round, count] : bytes)
      most = std::max(most, count);
    return most;
  };
  int64_t slabs = busiest(sent) + busiest(received);
  int64_t safe = live + total + slabs, peak = live;
  for (auto [round, bytes] : freed)
    taken.try_emplace(round, 0);
  for (auto [round, bytes] : taken) {
    live += bytes;
    peak = std::max(peak, live);
    live -= freed.count(round) ? freed[round] : 0;
  }
  auto expect = [&](StringRef what, std::optional<uint64_t> stated,
                    int64_t real) {
    if (stated && static_cast<int64_t>(*stated) == real)
      return success();
    return LogicalResult(program.emitError()
                         << "states a " << what << " of " << stated.value_or(0)
                         << " bytes, it is " << real);
  };
  if (failed(expect("send slab", program.getSendSlab(), busiest(sent))) ||
      failed(
          expect("receive slab", program.getRecvSlab(), busiest(received))) ||
      failed(expect("peak", program.getPeak(), peak + slabs)))
    return failure();
  return expect("safe peak", program.getPeakSafe(), safe);
}

LogicalResult ProgramReplay::run() {
  for (Operation &op : program.getBody().front()) {
    auto round = dyn_cast<RoundOp>(op);
    if (!round)
      return op.emitError("is not in a round; run etc-schedule-chunks first");
    for (auto instruction : round.getBody().getOps<InstructionOpInterface>())
      if (failed(replay(instruction, round.getIndex())))
        return failure();
  }
  for (auto *side : {&sends, &recvs})
    for (auto &messages : *side)
      llvm::sort(messages);
  if (failed(checkCoverage()) || failed(checkLiveness()))
    return failure();
  return checkPeaks();
}
