//===- CheckLiveness.cpp - V4: what is read is there ----------------------===//

#include "Arrivals.h"
#include "Rules.h"

using namespace etc;
using namespace mlir;

/// Of the previous state: the device held it, and has not released it.
static LogicalResult checkReads(const Replay &replay, const Shard &shard) {
  const TensorTable &table = replay.getTable();
  const int64_t released = shard.getReleased();
  for (const Access &read : shard.reads) {
    if (!isCovered(read.piece, replay.findPrev(read.piece)))
      return Refusal(read.op, Rule::Liveness)
             << "reads '" << table.getName(read.piece) << "' "
             << replay.showBox(read.piece)
             << ", which the device does not hold";
    if (released >= 0 && read.round > released)
      return Refusal(read.op, Rule::Liveness)
             << "reads '" << table.getName(read.piece) << "' in round "
             << read.round << ", after its release in round " << released;
  }
  return success();
}

/// Of the current state: it arrived in an earlier round.
static LogicalResult checkRelays(const Replay &replay, const Shard &shard) {
  if (shard.relays.empty())
    return success();
  const Arrivals arrivals(shard.writes);
  for (const Access &relay : shard.relays)
    if (arrivals.count(relay.piece, relay.round) < relay.piece.size())
      return Refusal(relay.op, Rule::Liveness)
             << "relays '" << replay.getTable().getName(relay.piece) << "' "
             << replay.showBox(relay.piece) << " in round " << relay.round
             << ", before which it has not arrived";
  return success();
}

/// Released in one round, every piece once.
static LogicalResult checkReleases(const Replay &replay, const Shard &shard) {
  if (shard.releases.empty())
    return success();
  const Piece &first = shard.releases.front().piece;
  const ArrayRef<Piece> held = replay.findPrev(first);
  auto nameOf = [&](const Piece &piece) {
    return "'" + replay.getTable().getName(piece) + "'";
  };
  SmallVector<Piece> released;
  for (const Access &release : shard.releases) {
    if (!llvm::is_contained(held, release.piece))
      return Refusal(release.op, Rule::Liveness)
             << "releases " << nameOf(release.piece)
             << ", of which the device holds something else";
    if (release.round != shard.getReleased() ||
        llvm::is_contained(released, release.piece))
      return Refusal(release.op, Rule::Liveness)
             << "releases " << nameOf(release.piece) << " a second time";
    released.push_back(release.piece);
  }
  if (released.size() != held.size())
    return Refusal(replay.getProgram(), Rule::Liveness)
           << "releases a part of " << nameOf(first) << " only";
  if (shard.isBound)
    return Refusal(replay.getProgram(), Rule::Liveness)
           << "releases " << nameOf(first)
           << ", whose memory the current state is bound to";
  return success();
}

LogicalResult etc::checkLiveness(const Replay &replay) {
  for (const auto &[key, shard] : replay.getShards())
    if (failed(checkReleases(replay, shard)) ||
        failed(checkReads(replay, shard)) || failed(checkRelays(replay, shard)))
      return failure();
  return success();
}
