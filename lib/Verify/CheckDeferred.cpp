//===- CheckDeferred.cpp - V16: the pause moves what is urgent ------------===//

#include "Rules.h"

using namespace etc;
using namespace mlir;

/// State that stays where it is takes no time: it is bound in any round.
static bool isBound(const Replay &replay, InstructionOpInterface op,
                    const llvm::SmallBitVector &types) {
  return isa<ReferOp>(op) &&
         llvm::all_of(replay.getTable().expand(op.getWid(), types),
                      [&](const Piece &piece) {
                        return llvm::all_of(types.set_bits(), [&](unsigned it) {
                          return replay.getShard(it, piece).isBound;
                        });
                      });
}

/// The instructions of a deferred round have deferred types alone, those of
/// another one have none.
static LogicalResult checkRound(const Replay &replay, RoundOp round) {
  const TensorTable &table = replay.getTable();
  for (auto op : round.getBody().getOps<InstructionOpInterface>()) {
    const llvm::SmallBitVector types = table.getTypes(op.getWt());
    llvm::SmallBitVector deferred = types;
    deferred &= table.getDeferredTypes();
    if (round.getDeferred() ? deferred == types : deferred.none())
      continue;
    if (round.getDeferred())
      return Refusal(op, Rule::Deferred)
             << "is in the deferred round " << round.getIndex()
             << ", but has types that are not deferred";
    if (!isBound(replay, op, deferred))
      return Refusal(op, Rule::Deferred)
             << "has deferred types, but round " << round.getIndex()
             << " is not deferred";
  }
  return success();
}

LogicalResult etc::checkDeferred(const Replay &replay) {
  const bool hasDeferred = replay.getTable().getDeferredTypes().any();
  ProgramOp program = replay.getProgram();
  for (RoundOp round : program.getBody().getOps<RoundOp>())
    if ((hasDeferred || round.getDeferred()) &&
        failed(checkRound(replay, round)))
      return failure();
  return success();
}

LogicalResult etc::checkTail(const PlanUnderTest &plan) {
  int64_t lastOfPause = -1;
  for (ProgramOp program : plan.programs)
    for (RoundOp round : program.getBody().getOps<RoundOp>())
      if (!round.getDeferred())
        lastOfPause = std::max<int64_t>(lastOfPause, round.getIndex());
  for (ProgramOp program : plan.programs)
    for (RoundOp round : program.getBody().getOps<RoundOp>())
      if (round.getDeferred() &&
          static_cast<int64_t>(round.getIndex()) <= lastOfPause)
        return Refusal(round, Rule::Deferred)
               << "round " << round.getIndex()
               << " is deferred here, but round " << lastOfPause
               << " of another program is not";
  return success();
}
