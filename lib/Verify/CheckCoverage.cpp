//===- CheckCoverage.cpp - V3: every element is written once --------------===//

#include "Arrivals.h"
#include "Rules.h"

using namespace etc;
using namespace mlir;

static LogicalResult checkDisjoint(const Replay &replay,
                                   ArrayRef<Access> writes, unsigned type) {
  if (writes.size() < 2)
    return success();
  const Access *repeated = Arrivals(writes).findRepeated();
  if (!repeated)
    return success();
  return Refusal(repeated->op, Rule::Coverage)
         << "writes " << replay.getTypeName(type) << " of '"
         << replay.getTable().getName(repeated->piece) << "' "
         << replay.showBox(repeated->piece) << " a second time";
}

/// `wanted` is a current shard.
static LogicalResult checkShard(const Replay &replay, ArrayRef<Piece> wanted,
                                unsigned type) {
  const TensorTable &table = replay.getTable();
  const ArrayRef<Access> writes = replay.getShard(type, wanted.front()).writes;
  int64_t elements = 0, size = 0;
  for (const Access &write : writes) {
    if (!isCovered(write.piece, wanted))
      return Refusal(write.op, Rule::Coverage)
             << "writes " << replay.getTypeName(type) << " of '"
             << table.getName(write.piece) << "' "
             << replay.showBox(write.piece) << " outside of the role's";
    elements += write.piece.size();
  }
  for (const Piece &piece : wanted)
    size += piece.size();
  if (failed(checkDisjoint(replay, writes, type)))
    return failure();
  if (elements == size)
    return success();
  SmallVector<Piece> missing =
      subtract(wanted, llvm::map_to_vector(writes, [](const Access &write) {
                 return write.piece;
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
