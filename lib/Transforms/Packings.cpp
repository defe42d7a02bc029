//===- Packings.cpp - What devices pack and unpack ------------------------===//

#include "Packings.h"

using namespace etc;
using namespace mlir;

/// A message consists of these pieces where they are smaller; docs/runtime.md.
static constexpr int64_t ownPiece = 256 << 10;

/// The first axis along which a piece is longer than 1; its rank if none is.
static unsigned findFirstLong(const Piece &piece) {
  unsigned axis = 0;
  while (axis < Piece::rank() && piece[axis].size() == 1)
    ++axis;
  return axis;
}

/// Whether a part is one interval of the memory of a shard.
static bool isContiguous(const Piece &shard, const Piece &part) {
  for (unsigned axis = findFirstLong(part) + 1; axis < Piece::rank(); ++axis)
    if (part[axis] != shard[axis])
      return false;
  return true;
}

/// The one of the pieces of a tensor that a part is in.
static const Piece *findAround(ArrayRef<Piece> shards, const Piece &part) {
  return llvm::find_if(shards, [&](const Piece &shard) {
    return shard.outer.contains(part.outer) && shard.cut.contains(part.cut) &&
           shard.inner.contains(part.inner);
  });
}

/// Where a device has what it sends, or puts what it receives.
static const Piece *findShard(const BothHoldings &holdings,
                              const DeviceProgram &program, const Step &step) {
  if (step.isTransit())
    return step.piece;
  const bool isPrev = step.isSend() && step.getHop() == 0;
  const Holdings &held = isPrev ? holdings.prev : holdings.curr;
  ArrayRef<Piece> shards = held.find(isPrev ? program.prev : program.curr,
                                     step.piece->tensor, *step.piece);
  const Piece *shard = findAround(shards, *step.piece);
  return shard == shards.end() ? nullptr : shard;
}

Packings::Packings(const ProgramFlows &flows, ArrayRef<DeviceProgram> programs,
                   const BothHoldings &holdings)
    : flows(flows) {
  for (unsigned item = 0; item < flows.getItemCount(); ++item)
    for (const ItemFlow &flow : flows.getFlows(item))
      for (const Step &step : flow.steps)
        if (step.isTransfer())
          shardOf[&step] = findShard(holdings, programs[flow.program], step);
}

bool Packings::isPacked(const Step &step, const Portion &portion) const {
  if (elementsOf(step, portion) * flows.getTable().getTypeBytes(portion.type) <
      ownPiece)
    return true;
  const Piece *shard = shardOf.lookup(&step);
  return !shard || !isContiguous(*shard, partOf(*step.piece, portion.chunk,
                                                portion.chunks));
}

/// A part that is no interval of a shard becomes one only where it is cut along
/// its first axis, into parts of one position.
bool Packings::isPackedAnyway(const Step &step, unsigned type,
                              int64_t most) const {
  const Piece *shard = shardOf.lookup(&step);
  if (!shard || most < ownPiece)
    return true;
  const Piece &piece = *step.piece;
  if (isContiguous(*shard, piece))
    return false;
  const int64_t positions = piece[findFirstLong(piece)].size();
  return piece.size() / positions * flows.getTable().getTypeBytes(type) <
         ownPiece;
}

bool Packings::areAlike(const Step &a, const Step &b) const {
  const Piece *one = shardOf.lookup(&a), *other = shardOf.lookup(&b);
  if (!one || !other)
    return one == other;
  return llvm::all_of(llvm::seq(Piece::rank()), [&](unsigned axis) {
    const Span &around = (*one)[axis], &peer = (*other)[axis];
    return around.size() == peer.size() &&
           (*a.piece)[axis].begin - around.begin ==
               (*b.piece)[axis].begin - peer.begin;
  });
}
