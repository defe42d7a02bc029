//===- CheckCoverage.cpp - V3: every element is written once --------------===//

#include "Rules.h"

using namespace etc;
using namespace mlir;

/// `writes` are sorted by their pieces.
static LogicalResult checkDisjoint(const Replay &replay,
                                   ArrayRef<const Access *> writes,
                                   unsigned type) {
  bool isFlat = llvm::all_of(writes, [&](const Access *write) {
    return write->piece.outer == writes.front()->piece.outer;
  });
  for (size_t i = 0; i < writes.size(); ++i)
    for (size_t j = i + 1; j < writes.size(); ++j) {
      const Piece &first = writes[i]->piece, &second = writes[j]->piece;
      if (isFlat && second.cut.begin >= first.cut.end)
        break;
      if (intersects(first, second))
        return Refusal(writes[j]->op, Rule::Coverage)
               << "writes " << replay.getTypeName(type) << " of '"
               << replay.getTable().getName(second) << "' "
               << replay.showBox(second) << " a second time";
    }
  return success();
}

/// `wanted` is a current shard.
static LogicalResult checkShard(const Replay &replay, ArrayRef<Piece> wanted,
                                unsigned type) {
  const TensorTable &table = replay.getTable();
  SmallVector<const Access *> writes;
  int64_t elements = 0, size = 0;
  for (const Access &write : replay.getShard(type, wanted.front()).writes) {
    if (!isCovered(write.piece, wanted))
      return Refusal(write.op, Rule::Coverage)
             << "writes " << replay.getTypeName(type) << " of '"
             << table.getName(write.piece) << "' "
             << replay.showBox(write.piece) << " outside of the role's";
    writes.push_back(&write);
    elements += write.piece.size();
  }
  for (const Piece &piece : wanted)
    size += piece.size();
  llvm::sort(writes, [](const Access *a, const Access *b) {
    return a->piece < b->piece;
  });
  if (failed(checkDisjoint(replay, writes, type)))
    return failure();
  if (elements == size)
    return success();
  SmallVector<Piece> missing =
      subtract(wanted, llvm::map_to_vector(writes, [](const Access *write) {
                 return write->piece;
               }));
  return Refusal(replay.getProgram(), Rule::Coverage)
         << "never writes " << replay.getTypeName(type) << " of '"
         << table.getName(wanted.front()) << "' from position "
         << missing.front().cut.begin << " on, of "
         << replay.showBox(wanted.front());
}

LogicalResult etc::checkCoverage(const Replay &replay) {
  size_t wanted = 0, written = 0;
  for (ArrayRef<Piece> rest = replay.getCurr(); !rest.empty();) {
    ArrayRef<Piece> shard = rest.take_while(
        [&](const Piece &piece) { return piece.isOfSame(rest.front()); });
    rest = rest.drop_front(shard.size());
    for (unsigned type :
         replay.getTable().getTypes(shard.front().tensor).set_bits()) {
      if (failed(checkShard(replay, shard, type)))
        return failure();
      ++wanted;
    }
  }
  for (const auto &[key, shard] : replay.getShards())
    written += !shard.writes.empty();
  if (written == wanted)
    return success();
  return Refusal(replay.getProgram(), Rule::Coverage)
         << "writes " << written << " tensors, its role has " << wanted;
}
