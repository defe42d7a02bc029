//===- CheckContents.cpp - V5, V6: what is derived, and what is zeroed ----===//

#include "Arrivals.h"
#include "Rules.h"

using namespace etc;
using namespace mlir;

static LogicalResult checkDerive(const Replay &replay, unsigned type,
                                 const Access &derive) {
  const TensorTable &table = replay.getTable();
  std::optional<unsigned> source =
      table.getDerivationSource(derive.piece.tensor, type);
  if (!source)
    return Refusal(derive.op, Rule::Derivations)
           << "derives " << replay.getTypeName(type) << " of '"
           << table.getName(derive.piece)
           << "', which has no type to derive it from";
  const Arrivals arrivals(replay.getShard(*source, derive.piece).writes);
  if (arrivals.count(derive.piece, derive.round) >= derive.piece.size())
    return success();
  return Refusal(derive.op, Rule::Derivations)
         << "derives " << replay.getTypeName(type) << " of '"
         << table.getName(derive.piece) << "' " << replay.showBox(derive.piece)
         << " in round " << derive.round << ", before which its "
         << replay.getTypeName(*source) << " is not complete";
}

LogicalResult etc::checkDerivations(const Replay &replay) {
  for (const auto &[key, shard] : replay.getShards())
    for (const Access &write : shard.writes)
      if (isa<DeriveOp>(write.op) &&
          failed(checkDerive(replay, std::get<0>(key), write)))
        return failure();
  return success();
}

static LogicalResult checkZero(const Replay &replay, const Access &zero) {
  const TensorTable &table = replay.getTable();
  std::optional<Piece> known = replay.getOracle().wholeOnPrev(zero.piece);
  if (known)
    known = intersect(zero.piece, *known);
  if (!known)
    return success();
  return Refusal(zero.op, Rule::Zeroes)
         << "zeroes '" << table.getName(zero.piece)
         << "', of which the previous state has " << known->size() << " of "
         << zero.piece.size() << " elements";
}

LogicalResult etc::checkZeroes(const Replay &replay) {
  for (const auto &[key, shard] : replay.getShards())
    for (const Access &write : shard.writes)
      if (isa<ZeroOp>(write.op) && failed(checkZero(replay, write)))
        return failure();
  return success();
}
