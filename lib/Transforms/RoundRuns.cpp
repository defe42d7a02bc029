//===- RoundRuns.cpp - What goes into one round together ------------------===//

#include "RoundWriter.h"

#include "llvm/ADT/Sequence.h"

using namespace etc;
using namespace mlir;

/// How many of the first are chunks that follow each other in one round.
int64_t RoundWriter::countAlike(ArrayRef<Placed> placed) {
  const auto &[first, round] = placed.front();
  int64_t count = 1;
  for (const auto &[next, itsRound] : placed.drop_front()) {
    if (next.type != first.type || next.hop != first.hop || next.derives ||
        next.chunks != first.chunks || next.chunk != first.chunk + count ||
        itsRound != round)
      break;
    ++count;
  }
  return count;
}

/// Whether chunks of what moves of an item are one piece of a device's memory
/// together if each of them is. They are not where a chunk is one slice of
/// several that do not follow each other.
bool RoundWriter::mayJoin(unsigned item, int64_t chunks) const {
  const Piece whole = flows.getWhole(item);
  auto joins = [&](const Step &step) {
    if (!step.isTransfer())
      return true;
    const Piece &piece = *step.piece;
    const unsigned axis = chunkAxis(piece, chunks);
    return piece[axis].size() >= 2 * chunks ||
           llvm::all_of(
               llvm::seq(axis + 1, Piece::rank()),
               [&](unsigned behind) { return piece[behind] == whole[behind]; });
  };
  return llvm::all_of(flows.getFlows(item), [&](const ItemFlow &flow) {
    return llvm::all_of(flow.steps, joins);
  });
}

void RoundWriter::add(unsigned item, ArrayRef<Placed> placed) {
  parts.startItem();
  llvm::SmallDenseMap<int64_t, bool> joins; // by how many chunks there are
  for (int64_t count; !placed.empty(); placed = placed.drop_front(count)) {
    const auto &[portion, round] = placed.front();
    count = countAlike(placed);
    if (count > 1) {
      const auto [entry, isNew] = joins.try_emplace(portion.chunks);
      if (isNew)
        entry->second = mayJoin(item, portion.chunks);
      count = entry->second ? count : 1;
    }
    if (flows.getTable().isDeferred(portion.type))
      firstDeferred = std::min(firstDeferred, round);
    runsOf[item].push_back(
        {placed.front(), count,
         parts.addColumn(
             {portion.chunk, portion.chunk + count - 1, portion.chunks})});
  }
  for (auto [number, flow] : llvm::enumerate(flows.getFlows(item))) {
    flowsOf[flow.program].push_back(
        {item, static_cast<unsigned>(number), rows.size()});
    for (const Step &step : flow.steps)
      rows.push_back(parts.addRow(*step.piece, step.isTransfer()));
    for (const Piece &piece : flow.releasedPieces)
      rows.push_back(parts.addRow(piece, /*isCut=*/false));
  }
}
