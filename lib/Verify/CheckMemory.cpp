//===- CheckMemory.cpp - V8, V9: slabs, peaks and the budget --------------===//

#include "Rules.h"

using namespace etc;
using namespace mlir;

namespace {
/// What a program does to the memory of its device, in bytes.
struct Footprint {
  explicit Footprint(const Replay &replay);

  /// Live bytes, eager or safe, without slabs: of all rounds, or of those that
  /// are deferred, from the end of the last that is not.
  int64_t getPeak(bool isSafe, bool isTail = false) const;

  int64_t held = 0;  ///< before the migration
  int64_t pause = 0; ///< rounds that are not deferred
  int64_t gradients = 0;
  /// By round; what is passed on is freed in safe mode, too.
  SmallVector<int64_t> taken, freed, passedOn, sent, received;

private:
  void addTransit(const Replay &replay);
};
} // namespace

/// What is passed on is allocated in the round that receives the first of it.
void Footprint::addTransit(const Replay &replay) {
  for (const auto &[key, transit] : replay.getTransits()) {
    int64_t bytes = 0, first = replay.getRounds();
    for (const Access &release : transit.releases)
      bytes += replay.bytesOf(release.piece, std::get<0>(key));
    for (const Access &write : transit.writes)
      first = std::min(first, write.round);
    taken[first] += bytes;
    passedOn[transit.getReleased()] += bytes;
  }
}

/// A tensor is allocated in the round that writes it first, whole.
Footprint::Footprint(const Replay &replay)
    : taken(replay.getRounds()), freed(replay.getRounds()),
      passedOn(replay.getRounds()), sent(replay.getRounds()),
      received(replay.getRounds()) {
  const TensorTable &table = replay.getTable();
  for (const Piece &piece : replay.getPrev())
    for (unsigned type : table.getTypes(piece.tensor).set_bits()) {
      const int64_t bytes = replay.bytesOf(piece, type),
                    round = replay.getShard(type, piece).getReleased();
      held += bytes;
      if (round >= 0)
        freed[round] += bytes;
    }
  for (const Piece &piece : replay.getCurr())
    for (unsigned type : table.getTypes(piece.tensor).set_bits()) {
      const Shard &shard = replay.getShard(type, piece);
      if (shard.isBound)
        continue;
      const int64_t bytes = replay.bytesOf(piece, type);
      int64_t first = replay.getRounds();
      for (const Access &write : shard.writes)
        first = std::min(first, write.round);
      taken[first] += bytes;
    }
  addTransit(replay);
  ProgramOp program = replay.getProgram();
  for (RoundOp round : program.getBody().getOps<RoundOp>())
    if (!round.getDeferred())
      pause = round.getIndex() + 1;
  for (const Piece &piece : replay.getCurr())
    gradients += table.getGradientBytes(piece);
  const Exchanges &exchanges = replay.getExchanges();
  for (auto [messages, bytes] :
       {std::pair(&exchanges.sends, &sent), {&exchanges.recvs, &received}})
    for (ArrayRef<Message> ofPeer : *messages)
      for (const Message &message : ofPeer)
        (*bytes)[message.round] += replay.bytesOf(*message.piece, message.type);
}

int64_t Footprint::getPeak(bool isSafe, bool isTail) const {
  int64_t live = held, peak = held, round = 0;
  for (auto [takes, frees, passes] : llvm::zip_equal(taken, freed, passedOn)) {
    if (isTail && round++ <= pause)
      peak = live;
    live += takes;
    peak = std::max(peak, live);
    live -= passes + (isSafe ? 0 : frees);
  }
  return isTail && round <= pause ? live : peak;
}

LogicalResult etc::checkMemory(const Replay &replay) {
  const Footprint footprint(replay);
  ProgramOp program = replay.getProgram();
  auto busiest = [](ArrayRef<int64_t> bytes) {
    return bytes.empty() ? 0 : *llvm::max_element(bytes);
  };
  const int64_t sendSlab = busiest(footprint.sent),
                recvSlab = busiest(footprint.received),
                slabs = sendSlab + recvSlab;
  auto expect = [&](StringRef what, std::optional<uint64_t> stated,
                    int64_t real) -> LogicalResult {
    if (!stated)
      return Refusal(program, Rule::Memory)
             << "states no " << what << ", it is " << real << " bytes";
    if (static_cast<int64_t>(*stated) == real)
      return success();
    return Refusal(program, Rule::Memory)
           << "states a " << what << " of " << *stated << " bytes, it is "
           << real;
  };
  if (failed(expect("send slab", program.getSendSlab(), sendSlab)) ||
      failed(expect("receive slab", program.getRecvSlab(), recvSlab)) ||
      failed(expect("peak", program.getPeak(),
                    footprint.getPeak(/*isSafe=*/false) + slabs)))
    return failure();
  if (failed(expect("safe peak", program.getPeakSafe(),
                    footprint.getPeak(/*isSafe=*/true) + slabs)))
    return failure();
  if (!replay.getMigration().getDeferred()) {
    if (program.getTailPeak() || program.getTailPeakSafe())
      return Refusal(program, Rule::Memory)
             << "states the peak of a tail, but nothing is deferred";
    return success();
  }
  const int64_t beside = slabs + footprint.gradients;
  if (failed(expect("tail peak", program.getTailPeak(),
                    footprint.getPeak(/*isSafe=*/false, /*isTail=*/true) +
                        beside)))
    return failure();
  return expect("safe tail peak", program.getTailPeakSafe(),
                footprint.getPeak(/*isSafe=*/true, /*isTail=*/true) + beside);
}

/// Bytes of all types.
static int64_t sizeOf(const TensorTable &table, ArrayRef<Piece> pieces) {
  int64_t bytes = 0;
  for (const Piece &piece : pieces)
    for (unsigned type : table.getTypes(piece.tensor).set_bits())
      bytes += piece.size() * table.getTypeBytes(type);
  return bytes;
}

/// A budget is bytes, or parts per million of the larger state of each device.
LogicalResult etc::checkBudget(const Replay &replay) {
  MigrationOp migration = replay.getMigration();
  const TensorTable &table = replay.getTable();
  int64_t limit;
  if (std::optional<uint64_t> bytes = migration.getBudgetBytes())
    limit = *bytes;
  else if (std::optional<uint64_t> ppm = migration.getBudgetPpm())
    limit = static_cast<__int128>(std::max(sizeOf(table, replay.getPrev()),
                                           sizeOf(table, replay.getCurr()))) *
            *ppm / 1000000;
  else
    return success();
  ProgramOp program = replay.getProgram();
  int64_t peak = program.getPeak().value_or(0);
  // A budget in bytes is of all that is there.
  if (migration.getBudgetBytes())
    peak = std::max<int64_t>(peak, program.getTailPeak().value_or(0));
  if (peak <= limit)
    return success();
  return Refusal(program, Rule::Budget)
         << "peaks at " << peak << " bytes, the memory budget allows " << limit;
}
