//===- Replay.cpp - What a program does to each tensor --------------------===//

#include "Replay.h"

using namespace etc;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

bool etc::isCovered(const Piece &piece, ArrayRef<Piece> others) {
  // Mostly it is in one of them.
  return llvm::any_of(others,
                      [&](const Piece &one) { return contains(one, piece); }) ||
         subtract({piece}, others).empty();
}

/// Of sorted pieces, those of one tensor.
static ArrayRef<Piece> shardOf(ArrayRef<Piece> pieces, const Piece &piece) {
  Piece key{piece.tensor, piece.layer, piece.expert, {}, {}, {}};
  const Piece *begin = llvm::lower_bound(pieces, key), *end = begin;
  while (end != pieces.end() && end->isOfSame(key))
    ++end;
  return {begin, end};
}

//===----------------------------------------------------------------------===//
// The replay
//===----------------------------------------------------------------------===//

Replay::Replay(ProgramOp program, const TensorTable &table,
               const LayoutOracle &oracle)
    : program(program), migration(program->getParentOfType<MigrationOp>()),
      table(table), oracle(oracle) {
  for (auto [side, role, pieces] :
       {std::tuple(Side::Prev, program.getPrev(), &prev),
        std::tuple(Side::Curr, program.getCurr(), &curr)})
    if (role)
      *pieces = oracle.holdings(
          side, migration.getParallel(side).getRoleIndex(*role));
  shards.reserve((prev.size() + curr.size()) * table.getTypeCount());
  exchanges.sends.resize(program.getBindings().size());
  exchanges.recvs.resize(program.getBindings().size());
  exchanges.passedBytes.resize(program.getBindings().size());
  for (RoundOp round : program.getBody().getOps<RoundOp>()) {
    for (auto instruction : round.getBody().getOps<InstructionOpInterface>())
      add(instruction, round.getIndex());
    rounds = round.getIndex() + 1;
  }
  // Not llvm::sort, which takes qsort for what is trivially copied.
  for (auto *side : {&exchanges.sends, &exchanges.recvs})
    for (auto &messages : *side)
      std::sort(messages.begin(), messages.end());
  for (auto &[key, shard] : shards)
    shard.isBound = isBound(shard);
}

void Replay::add(InstructionOpInterface op, int64_t round) {
  const llvm::SmallBitVector types = table.getTypes(op.getWt());
  SmallVector<Piece> pieces = table.expand(op.getWid(), types);
  for (unsigned type : types.set_bits())
    for (const Piece &piece : pieces)
      addPiece(op, round, type, piece);
}

void Replay::addPiece(InstructionOpInterface op, int64_t round, unsigned type,
                      const Piece &piece) {
  if (auto transfer = dyn_cast<TransferOpInterface>(op.getOperation()))
    return addTransfer(transfer, round, type, piece);
  auto release = dyn_cast<ReleaseOp>(op.getOperation());
  if (release && release.getTransit()) {
    transits[keyOf(type, piece)].releases.push_back({piece, round, op});
    return;
  }
  Shard &shard = shards[keyOf(type, piece)];
  if (release) {
    shard.releases.push_back({piece, round, op});
    return;
  }
  shard.writes.push_back({piece, round, op});
  if (!isa<ReferOp>(op.getOperation()))
    return;
  if (!table.getDerivationSource(piece.tensor, type))
    exchanges.keptBytes += bytesOf(piece, type);
  addRead(op, round, type, piece);
}

void Replay::addTransfer(TransferOpInterface transfer, int64_t round,
                         unsigned type, const Piece &piece) {
  auto op = cast<InstructionOpInterface>(transfer.getOperation());
  unsigned peer = cast<BlockArgument>(transfer.getPeer()).getArgNumber();
  const bool isSend = isa<SendOp>(op.getOperation());
  const int64_t hop = transfer.getHop().value_or(0);
  (isSend ? exchanges.sends : exchanges.recvs)[peer].push_back(
      {round, type, piece, transfer.getTied(), hop});
  if (transfer.getTransit()) {
    Transit &transit = transits[keyOf(type, piece)];
    (isSend ? transit.reads : transit.writes).push_back({piece, round, op});
    if (!isSend && hop == 0)
      exchanges.passedBytes[peer] += bytesOf(piece, type);
    return;
  }
  if (!isSend)
    shards[keyOf(type, piece)].writes.push_back({piece, round, op});
  else if (hop > 0)
    shards[keyOf(type, piece)].relays.push_back({piece, round, op});
  else
    addRead(op, round, type, piece);
}

/// A tied copy that does not exist yet is read from its twin.
void Replay::addRead(InstructionOpInterface op, int64_t round, unsigned type,
                     Piece piece) {
  const unsigned named = piece.tensor;
  piece.tensor = oracle.sourceOf(named);
  shards[keyOf(type, piece)].reads.push_back(
      {piece, round, op, piece.tensor != named});
}

/// A whole previous shard that one round refers to as the whole current one
/// keeps its memory.
bool Replay::isBound(const Shard &shard) const {
  if (shard.writes.empty())
    return false;
  const int64_t round = shard.writes.front().round;
  SmallVector<Piece> written;
  for (const Access &write : shard.writes) {
    InstructionOpInterface op = write.op;
    if (!isa<ReferOp>(op.getOperation()) || write.round != round)
      return false;
    written.push_back(write.piece);
  }
  llvm::sort(written);
  ArrayRef<Piece> held = findPrev(written.front());
  return held == ArrayRef<Piece>(written) &&
         held == shardOf(curr, written.front());
}

//===----------------------------------------------------------------------===//
// What rules ask
//===----------------------------------------------------------------------===//

ArrayRef<Piece> Replay::findPrev(const Piece &piece) const {
  return shardOf(prev, piece);
}

const Shard &Replay::getShard(unsigned type, const Piece &piece) const {
  static const Shard none;
  auto it = shards.find(keyOf(type, piece));
  return it == shards.end() ? none : it->second;
}

bool Replay::isThere(unsigned type, const Piece &piece, int64_t round) const {
  int64_t written = 0;
  for (const Access &write : getShard(type, piece).writes)
    if (write.round < round)
      if (std::optional<Piece> shared = intersect(write.piece, piece))
        written += shared->size();
  return written >= piece.size();
}

StringRef Replay::getTypeName(unsigned type) const {
  MigrationOp op = migration;
  return cast<StateAttr>(op.getTypes()[type]).getName().getValue();
}

std::string Replay::showBox(const Piece &piece) const {
  Piece whole =
      table.getWhole(piece.tensor, piece.layer, piece.expert, Side::Curr);
  const bool isOfRows =
      piece.outer == whole.outer && piece.inner == whole.inner;
  return isOfRows ? describe(Box{piece.cut}) : describe(piece);
}
