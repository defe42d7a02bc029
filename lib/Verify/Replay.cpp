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
static ArrayRef<Piece> piecesOf(ArrayRef<Piece> pieces, const Piece &piece) {
  Piece key{piece.tensor, piece.layer, piece.expert, {}, {}, {}};
  const Piece *begin = llvm::lower_bound(pieces, key), *end = begin;
  while (end != pieces.end() && end->isOfSame(key))
    ++end;
  return {begin, end};
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

ShardNumbers::ShardNumbers(const TensorTable &table)
    : types(table.getTypeCount()) {
  size_t count = 0;
  for (unsigned tensor = 0; tensor < table.size(); ++tensor) {
    const size_t layers = table.getPart(tensor) == Part::Layer
                              ? table.getLayers()
                              : 1,
                 experts = table.isOfExpert(tensor) ? table.getExperts() : 1;
    instances.push_back({count, experts});
    count += layers * experts;
  }
  entries.resize(count * types);
}

//===----------------------------------------------------------------------===//
// The replay
//===----------------------------------------------------------------------===//

Replay::Replay(ProgramOp program, const TensorTable &table,
               const LayoutOracle &oracle, ReplayTables &tables)
    : program(program), migration(program->getParentOfType<MigrationOp>()),
      table(table), oracle(oracle), tables(tables) {
  tables.shards.clear();
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
    const int64_t number = round.getIndex();
    for (Operation &op : round.getBody().getOps())
      add(&op, number);
    rounds = number + 1;
  }
  // Not llvm::sort, which takes qsort for what is trivially copied.
  for (auto *side : {&exchanges.sends, &exchanges.recvs})
    for (auto &messages : *side)
      std::sort(messages.begin(), messages.end());
  for (auto &[key, shard] : shards)
    shard.isBound = isBound(shard);
}

Shard &Replay::shardOf(unsigned type, const Piece &piece) {
  const uint32_t number =
      tables.shards.add(type, piece, static_cast<uint32_t>(shards.size()));
  if (number == shards.size())
    shards.push_back({keyOf(type, piece), {}});
  return shards[number].second;
}

/// Calls a function with every piece in every type.
template <typename Function>
static void forEach(const ReadIds::Read &read, Function function) {
  for (unsigned type : read.types.set_bits())
    for (const Piece &piece : read.pieces)
      function(type, piece);
}

static unsigned numberOf(Value peer) {
  return cast<BlockArgument>(peer).getArgNumber();
}

void Replay::add(Operation *op, int64_t round) {
  if (auto send = dyn_cast<SendOp>(op))
    addSend(send, round);
  else if (auto recv = dyn_cast<RecvOp>(op))
    addRecv(recv, round);
  else if (auto release = dyn_cast<ReleaseOp>(op))
    addRelease(release, round);
  else
    addWrite(cast<InstructionOpInterface>(op), round);
}

void Replay::addSend(SendOp op, int64_t round) {
  const int64_t hop = op.getHop().value_or(0);
  const bool isTransit = op.getTransit();
  auto &messages = exchanges.sends[numberOf(op.getPeer())];
  forEach(tables.ids.read(op.getWid(), op.getWt()),
          [&](unsigned type, const Piece &piece) {
            messages.push_back({round, &piece, hop, type});
            const Access access{piece, round, op};
            if (isTransit)
              transits[keyOf(type, piece)].reads.push_back(access);
            else if (hop > 0)
              shardOf(type, piece).relays.push_back(access);
            else
              addRead(type, access);
          });
}

void Replay::addRecv(RecvOp op, int64_t round) {
  const int64_t hop = op.getHop().value_or(0);
  const bool isTransit = op.getTransit();
  const unsigned peer = numberOf(op.getPeer());
  auto &messages = exchanges.recvs[peer];
  forEach(tables.ids.read(op.getWid(), op.getWt()),
          [&](unsigned type, const Piece &piece) {
            messages.push_back({round, &piece, hop, type});
            auto &writes = isTransit ? transits[keyOf(type, piece)].writes
                                     : shardOf(type, piece).writes;
            writes.push_back({piece, round, op});
            if (isTransit && hop == 0)
              exchanges.passedBytes[peer] += bytesOf(piece, type);
          });
}

void Replay::addRelease(ReleaseOp op, int64_t round) {
  const bool isTransit = op.getTransit();
  forEach(tables.ids.read(op.getWid(), op.getWt()),
          [&](unsigned type, const Piece &piece) {
            auto &releases = isTransit ? transits[keyOf(type, piece)].releases
                                       : shardOf(type, piece).releases;
            releases.push_back({piece, round, op});
          });
}

/// What stays, is derived or zeroed.
void Replay::addWrite(InstructionOpInterface op, int64_t round) {
  const bool isRefer = isa<ReferOp>(op.getOperation());
  forEach(tables.ids.read(op.getWid(), op.getWt()),
          [&](unsigned type, const Piece &piece) {
            const Access access{piece, round, op};
            shardOf(type, piece).writes.push_back(access);
            if (!isRefer)
              return;
            if (!table.getDerivationSource(piece.tensor, type))
              exchanges.keptBytes += bytesOf(piece, type);
            addRead(type, access);
          });
}

/// A tied tensor that the device does not hold is read from the first twin that
/// it holds.
void Replay::addRead(unsigned type, const Access &access) {
  const ArrayRef<unsigned> others = table.getTwins(access.piece.tensor);
  if (!others.empty() && !isCovered(access.piece, findPrev(access.piece)))
    for (unsigned other : others) {
      Piece twin = access.piece;
      twin.tensor = other;
      if (!isCovered(twin, findPrev(twin)))
        continue;
      const Piece &read = twins.emplace_back(twin);
      shardOf(type, read).reads.push_back({read, access.round, access.op});
      return;
    }
  shardOf(type, access.piece).reads.push_back(access);
}

/// A whole previous shard that one round refers to as the whole current one
/// keeps its memory.
bool Replay::isBound(const Shard &shard) const {
  if (shard.writes.empty())
    return false;
  const int64_t round = shard.writes.front().round;
  SmallVector<Piece> written;
  for (const Access &write : shard.writes) {
    if (!isa<ReferOp>(write.op) || write.round != round)
      return false;
    written.push_back(write.piece);
  }
  llvm::sort(written);
  ArrayRef<Piece> held = findPrev(written.front());
  return held == ArrayRef<Piece>(written) &&
         held == piecesOf(curr, written.front());
}

//===----------------------------------------------------------------------===//
// What rules ask
//===----------------------------------------------------------------------===//

ArrayRef<Piece> Replay::findPrev(const Piece &piece) const {
  return piecesOf(prev, piece);
}

const Shard &Replay::getShard(unsigned type, const Piece &piece) const {
  static const Shard none;
  const uint32_t *number = tables.shards.find(type, piece);
  return number ? shards[*number].second : none;
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
