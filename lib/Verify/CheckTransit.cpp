//===- CheckTransit.cpp - V4: what is passed on arrived, and goes ---------===//

#include "Arrivals.h"
#include "Rules.h"

using namespace etc;
using namespace mlir;

namespace {
/// What a device receives of one tensor in one type to pass it on.
class TransitChecker {
public:
  TransitChecker(const Replay &replay, const Transit &transit)
      : replay(replay), transit(transit) {
    for (const Access &release : transit.releases)
      held.push_back(release.piece);
  }

  LogicalResult run() const;

private:
  LogicalResult checkReleases() const;
  LogicalResult checkWrites() const;
  LogicalResult checkReads() const;
  std::string nameOf(const Piece &piece) const {
    return "'" + replay.getTable().getName(piece) + "' " +
           replay.showBox(piece);
  }

  const Replay &replay;
  const Transit &transit;
  SmallVector<Piece> held; ///< as the release names it
};
} // namespace

/// In one round, behind all that writes or reads.
LogicalResult TransitChecker::checkReleases() const {
  if (transit.releases.empty()) {
    const Access &first =
        (transit.writes.empty() ? transit.reads : transit.writes).front();
    return Refusal(first.op, Rule::Liveness)
           << "never releases what it passes on of " << nameOf(first.piece);
  }
  for (const Access &release : transit.releases)
    if (release.round != transit.getReleased())
      return Refusal(release.op, Rule::Liveness)
             << "releases what it passes on of " << nameOf(release.piece)
             << " in a second round";
  for (const auto *uses : {&transit.writes, &transit.reads})
    for (const Access &use : *uses)
      if (use.round > transit.getReleased())
        return Refusal(use.op, Rule::Liveness)
               << "passes on " << nameOf(use.piece) << " in round " << use.round
               << ", after its release in round " << transit.getReleased();
  return success();
}

/// Every element arrives once.
LogicalResult TransitChecker::checkWrites() const {
  int64_t arrived = 0, size = 0;
  for (const Piece &piece : held)
    size += piece.size();
  const Access *const repeated = Arrivals(transit.writes).findRepeated();
  for (const Access &write : transit.writes) {
    if (&write == repeated || !isCovered(write.piece, held))
      return Refusal(write.op, Rule::Liveness)
             << "receives " << nameOf(write.piece)
             << " a second time, or does not release it";
    arrived += write.piece.size();
  }
  if (arrived == size)
    return success();
  return Refusal(transit.releases.front().op, Rule::Liveness)
         << "releases " << size << " elements of " << nameOf(held.front())
         << ", of which " << arrived << " arrive";
}

/// What arrived in earlier rounds, and all of it.
LogicalResult TransitChecker::checkReads() const {
  SmallVector<Piece> sent;
  const Arrivals arrivals(transit.writes);
  for (const Access &read : transit.reads) {
    if (arrivals.count(read.piece, read.round) != read.piece.size())
      return Refusal(read.op, Rule::Liveness)
             << "passes on " << nameOf(read.piece) << " in round " << read.round
             << ", before which it has not arrived";
    sent.push_back(read.piece);
  }
  for (const Access &write : transit.writes)
    if (!isCovered(write.piece, sent))
      return Refusal(write.op, Rule::Liveness)
             << "receives " << nameOf(write.piece)
             << " in transit, and does not pass it on";
  return success();
}

LogicalResult TransitChecker::run() const {
  return success(succeeded(checkReleases()) && succeeded(checkWrites()) &&
                 succeeded(checkReads()));
}

LogicalResult etc::checkTransit(const Replay &replay) {
  for (const auto &[key, transit] : replay.getTransits())
    if (failed(TransitChecker(replay, transit).run()))
      return failure();
  return success();
}
