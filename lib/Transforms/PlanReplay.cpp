//===- PlanReplay.cpp - Programs replayed against lib/Layout --------------===//

#include "PlanReplay.h"

using namespace etc;
using namespace mlir;

ProgramReplay::ProgramReplay(ProgramOp program, const TensorTable &table,
                             const LayoutOracle &oracle)
    : program(program), table(table), oracle(oracle),
      migration(program->getParentOfType<MigrationOp>()),
      sends(program.getBindings().size()), recvs(program.getBindings().size()) {
  for (auto [side, role, pieces] :
       {std::tuple(Side::Prev, program.getPrev(), &prev),
        std::tuple(Side::Curr, program.getCurr(), &curr)})
    if (role)
      *pieces = oracle.holdings(
          side, migration.getParallel(side).getRoleIndex(*role));
}

int64_t ProgramReplay::bytesOf(const Piece &piece, unsigned type) const {
  return piece.size() * table.getTypeBytes(type);
}

StringRef ProgramReplay::getTypeName(unsigned type) const {
  return cast<StateAttr>(migration.getTypes()[type]).getName().getValue();
}

/// Of sorted pieces, those of one tensor.
static ArrayRef<Piece> shardOf(ArrayRef<Piece> pieces, const Piece &piece) {
  Piece key{piece.tensor, piece.layer, piece.expert, {}, {}, {}};
  const Piece *begin = llvm::lower_bound(pieces, key), *end = begin;
  while (end != pieces.end() && end->isOfSame(key))
    ++end;
  return {begin, end};
}

ArrayRef<Piece> ProgramReplay::findPrev(const Piece &piece) const {
  return shardOf(prev, piece);
}

std::string ProgramReplay::showBox(const Piece &piece) const {
  auto show = [](Span span) {
    return std::to_string(span.begin) + ":" + std::to_string(span.end);
  };
  Piece whole =
      table.getWhole(piece.tensor, piece.layer, piece.expert, Side::Curr);
  if (piece.outer == whole.outer && piece.inner == whole.inner)
    return "[" + show(piece.cut) + "]";
  return "[" + show(piece.outer) + ", " + show(piece.cut) + ", " +
         show(piece.inner) + "]";
}

/// What of `pieces` none of `others` covers.
static SmallVector<Piece> remainder(SmallVector<Piece> pieces,
                                    ArrayRef<Piece> others) {
  for (const Piece &other : others) {
    SmallVector<Piece> rest;
    for (const Piece &piece : pieces)
      llvm::append_range(rest, subtract(piece, other));
    pieces = std::move(rest);
  }
  return pieces;
}

/// Whether all of the piece is in others of its tensor.
static bool isCovered(const Piece &piece, ArrayRef<Piece> others) {
  // Mostly it is in one of them.
  return llvm::any_of(others,
                      [&](const Piece &one) { return one.covers(piece); }) ||
         remainder({piece}, others).empty();
}

LogicalResult ProgramReplay::read(InstructionOpInterface op, int64_t round,
                                  unsigned type, Piece piece) {
  piece.tensor = oracle.sourceOf(piece.tensor);
  if (!isCovered(piece, findPrev(piece)))
    return op->emitError() << "reads '" << table.getName(piece) << "' "
                           << showBox(piece)
                           << ", which the device does not hold";
  State &state = states[keyOf(type, piece)];
  if (round > state.lastRead) {
    state.lastRead = round;
    state.reader = op;
  }
  return success();
}

/// Rounds are replayed in order, so all writes of earlier ones are known;
/// coverage says that they are disjoint.
bool ProgramReplay::isThere(unsigned type, const Piece &piece, int64_t round) {
  int64_t written = 0;
  for (const Write &write : states[keyOf(type, piece)].writes)
    if (write.round < round)
      if (std::optional<Piece> shared = intersect(write.piece, piece))
        written += shared->size();
  return written >= piece.size();
}

LogicalResult ProgramReplay::relay(InstructionOpInterface op, int64_t round,
                                   unsigned type, const Piece &piece) {
  if (isThere(type, piece, round))
    return success();
  return op->emitError() << "relays '" << table.getName(piece) << "' "
                         << showBox(piece) << " in round " << round
                         << ", before which it has not arrived";
}

LogicalResult ProgramReplay::derive(InstructionOpInterface op, int64_t round,
                                    unsigned type, const Piece &piece) {
  std::optional<unsigned> source =
      table.getDerivationSource(piece.tensor, type);
  if (!source)
    return op->emitError() << "derives " << getTypeName(type) << " of '"
                           << table.getName(piece)
                           << "', which has no type to derive it from";
  if (isThere(*source, piece, round))
    return success();
  return op->emitError() << "derives " << getTypeName(type) << " of '"
                         << table.getName(piece) << "' " << showBox(piece)
                         << " in round " << round << ", before which its "
                         << getTypeName(*source) << " is not complete";
}

LogicalResult ProgramReplay::release(InstructionOpInterface op, int64_t round,
                                     unsigned type, Piece piece) {
  if (!llvm::is_contained(findPrev(piece), piece))
    return op->emitError() << "releases '" << table.getName(piece)
                           << "', of which the device holds something else";
  State &state = states[keyOf(type, piece)];
  bool isLate = state.released >= 0 && state.released != round;
  if (isLate || llvm::is_contained(state.releasedPieces, piece))
    return op->emitError() << "releases '" << table.getName(piece)
                           << "' a second time";
  state.released = round;
  state.releasedPieces.push_back(piece);
  return success();
}

/// A shard is released whole.
LogicalResult ProgramReplay::checkReleases() {
  for (auto &[key, state] : states) {
    if (state.releasedPieces.empty())
      continue;
    const Piece &piece = state.releasedPieces.front();
    if (state.releasedPieces.size() != findPrev(piece).size())
      return program.emitError()
             << "releases a part of '" << table.getName(piece) << "' only";
  }
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
    (isSend ? sends : recvs)[peer].push_back({round, type, piece,
                                              transfer.getTied(),
                                              transfer.getHop().has_value()});
    if (isSend)
      return transfer.getHop() ? relay(op, round, type, piece)
                               : read(op, round, type, piece);
  }
  State &state = states[keyOf(type, piece)];
  state.writes.push_back({piece, round, op});
  if (isa<DeriveOp>(op.getOperation()))
    return derive(op, round, type, piece);
  if (isa<ZeroOp>(op.getOperation()))
    zeroes.push_back({op, piece});
  if (!isa<ReferOp>(op.getOperation()))
    return success();
  if (!table.getDerivationSource(piece.tensor, type))
    keptBytes += bytesOf(piece, type);
  return read(op, round, type, piece);
}

LogicalResult ProgramReplay::replay(InstructionOpInterface op, int64_t round) {
  const llvm::SmallBitVector types = table.getTypes(op.getWt());
  SmallVector<Piece> pieces = table.expand(op.getWid(), types);
  for (unsigned type : types.set_bits())
    for (const Piece &piece : pieces)
      if (failed(replayPiece(op, round, type, piece)))
        return failure();
  return success();
}

/// A whole previous shard that one round refers to as the whole current one
/// keeps its memory.
void ProgramReplay::bindShards() {
  for (auto &[key, state] : states) {
    if (state.writes.empty())
      continue;
    SmallVector<Piece> written;
    int64_t round = state.writes.front().round;
    bool isReferred = true;
    for (Write &write : state.writes) {
      isReferred &=
          isa<ReferOp>(write.op.getOperation()) && write.round == round;
      written.push_back(write.piece);
    }
    llvm::sort(written);
    ArrayRef<Piece> held = findPrev(written.front());
    if (isReferred && held == ArrayRef<Piece>(written) &&
        held == shardOf(curr, written.front()))
      state.bound = round;
  }
}

/// `writes` are sorted by their pieces.
LogicalResult ProgramReplay::checkDisjoint(MutableArrayRef<Write> writes,
                                           StringRef typeName) {
  bool isFlat = llvm::all_of(writes, [&](const Write &write) {
    return write.piece.outer == writes.front().piece.outer;
  });
  for (size_t i = 0; i < writes.size(); ++i)
    for (size_t j = i + 1; j < writes.size(); ++j) {
      const Piece &first = writes[i].piece, &second = writes[j].piece;
      if (isFlat && second.cut.begin >= first.cut.end)
        break;
      if (intersect(first, second))
        return writes[j].op->emitError()
               << "writes " << typeName << " of '" << table.getName(second)
               << "' " << showBox(second) << " a second time";
    }
  return success();
}

LogicalResult ProgramReplay::checkCovered(ArrayRef<Piece> wanted,
                                          unsigned type) {
  State &state = states[keyOf(type, wanted.front())];
  llvm::sort(state.writes,
             [](const Write &a, const Write &b) { return a.piece < b.piece; });
  SmallVector<Piece> written;
  int64_t elements = 0, size = 0;
  for (Write &write : state.writes) {
    if (!isCovered(write.piece, wanted))
      return write.op->emitError()
             << "writes " << getTypeName(type) << " of '"
             << table.getName(write.piece) << "' " << showBox(write.piece)
             << " outside of the role's";
    written.push_back(write.piece);
    elements += write.piece.size();
  }
  for (const Piece &piece : wanted)
    size += piece.size();
  if (failed(checkDisjoint(state.writes, getTypeName(type))))
    return failure();
  if (elements == size)
    return success();
  SmallVector<Piece> missing = remainder(SmallVector<Piece>(wanted), written);
  return program.emitError()
         << "never writes " << getTypeName(type) << " of '"
         << table.getName(wanted.front()) << "' from position "
         << missing.front().cut.begin << " on, of " << showBox(wanted.front());
}

LogicalResult ProgramReplay::checkCoverage() {
  size_t wanted = 0, written = 0;
  for (ArrayRef<Piece> rest = curr; !rest.empty();) {
    ArrayRef<Piece> shard = rest.take_while(
        [&](const Piece &piece) { return piece.isOfSame(rest.front()); });
    rest = rest.drop_front(shard.size());
    for (unsigned type : table.getTypes(shard.front().tensor).set_bits()) {
      if (failed(checkCovered(shard, type)))
        return failure();
      ++wanted;
    }
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
    const Piece &piece = state.releasedPieces.front();
    if (state.bound >= 0)
      return program.emitError()
             << "releases '" << table.getName(piece)
             << "', whose memory the current state is bound to";
    if (state.lastRead > state.released)
      return state.reader->emitError()
             << "reads '" << table.getName(piece) << "' in round "
             << state.lastRead << ", after its release in round "
             << state.released;
  }
  return success();
}

LogicalResult ProgramReplay::checkZeroes() const {
  for (auto [op, piece] : zeroes) {
    Piece source = piece;
    source.tensor = oracle.sourceOf(piece.tensor);
    if (!oracle.isOnPrev(source.tensor))
      continue;
    if (std::optional<Piece> known =
            intersect(source, table.getWhole(source.tensor, source.layer,
                                             source.expert, Side::Prev)))
      return InstructionOpInterface(op)->emitError()
             << "zeroes '" << table.getName(piece)
             << "', of which the previous state has " << known->size() << " of "
             << piece.size() << " elements";
  }
  return success();
}

LogicalResult ProgramReplay::checkPeaks() {
  using Bytes = SmallVector<int64_t>; // by round
  Bytes taken(rounds), freed(rounds), sent(rounds), received(rounds);
  int64_t live = 0, total = 0;
  for (const Piece &piece : prev)
    for (unsigned type : table.getTypes(piece.tensor).set_bits()) {
      live += bytesOf(piece, type);
      if (State &state = states[keyOf(type, piece)]; state.released >= 0)
        freed[state.released] += bytesOf(piece, type);
    }
  for (const Piece &piece : curr)
    for (unsigned type : table.getTypes(piece.tensor).set_bits()) {
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
  for (auto *side : {&sends, &recvs})
    for (ArrayRef<Message> messages : *side)
      for (const Message &message : messages)
        (side == &sends ? sent : received)[message.round] +=
            bytesOf(message.piece, message.type);
  auto busiest = [](const Bytes &bytes) {
    return bytes.empty() ? 0 : *llvm::max_element(bytes);
  };
  int64_t slabs = busiest(sent) + busiest(received);
  int64_t safe = live + total + slabs, peak = live;
  for (auto [takes, frees] : llvm::zip_equal(taken, freed)) {
    live += takes;
    peak = std::max(peak, live);
    live -= frees;
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
  states.reserve((prev.size() + curr.size()) * table.getTypeCount());
  for (RoundOp round : program.getBody().getOps<RoundOp>()) {
    for (auto instruction : round.getBody().getOps<InstructionOpInterface>())
      if (failed(replay(instruction, round.getIndex())))
        return failure();
    rounds = round.getIndex() + 1;
  }
  // Not llvm::sort, which takes qsort for what is trivially copied.
  for (auto *side : {&sends, &recvs})
    for (auto &messages : *side)
      std::sort(messages.begin(), messages.end());
  bindShards();
  if (failed(checkCoverage()) || failed(checkReleases()) ||
      failed(checkLiveness()) || failed(checkPeaks()))
    return failure();
  states = {}; // all programs are kept, what they exchange is compared
  return success();
}
