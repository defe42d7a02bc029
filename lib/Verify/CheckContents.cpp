//===- CheckContents.cpp - V5, V6: what is derived, and what is zeroed ----===//

#include "Arrivals.h"
#include "Rules.h"

using namespace etc;
using namespace mlir;

/// What is derived of one tensor in one type.
static LogicalResult checkDerives(const Replay &replay, unsigned type,
                                  ArrayRef<Access> derives) {
  const TensorTable &table = replay.getTable();
  const Access &first = derives.front();
  std::optional<unsigned> source =
      table.getDerivationSource(first.piece.tensor, type);
  if (!source)
    return Refusal(first.op, Rule::Derivations)
           << "derives " << replay.getTypeName(type) << " of '"
           << table.getName(first.piece)
           << "', which has no type to derive it from";
  const Arrivals arrivals(replay.getShard(*source, first.piece).writes);
  for (const Access &derive : derives)
    if (arrivals.count(derive.piece, derive.round) < derive.piece.size())
      return Refusal(derive.op, Rule::Derivations)
             << "derives " << replay.getTypeName(type) << " of '"
             << table.getName(derive.piece) << "' "
             << replay.showBox(derive.piece) << " in round " << derive.round
             << ", before which its " << replay.getTypeName(*source)
             << " is not complete";
  return success();
}

LogicalResult etc::checkDerivations(const Replay &replay) {
  for (const auto &[key, shard] : replay.getShards()) {
    std::vector<Access> derives;
    llvm::copy_if(shard.writes, std::back_inserter(derives),
                  [](const Access &write) { return isa<DeriveOp>(write.op); });
    if (!derives.empty() &&
        failed(checkDerives(replay, std::get<0>(key), derives)))
      return failure();
  }
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
