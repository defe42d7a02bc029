#include "core/engine/Staging.h"

#include "core/pack/Parts.h"

#include <algorithm>

using namespace etc;
using namespace etc::runtime;
using etc::plan::Side;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

constexpr uint64_t kOwnPiece = 256 << 10;

uint64_t etc::runtime::ownPieceBytes(uint64_t pieceBytes) {
  // A part has about half of what a piece should have at most, or more.
  return pieceBytes > 0 ? std::min(kOwnPiece, pieceBytes / 2) : kOwnPiece;
}

static uint64_t roundUp(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

MessagePieces::Place MessagePieces::add(uint64_t bytes, bool isDirect) {
  const bool isSmall = bytes < ownPiece;
  Place place{!isSmall || !isOpen, 0};
  if (!isDirect) {
    if (place.isNew)
      end = takesTurns ? 0 : roundUp(end, alignment);
    place.offset = end;
    end += bytes;
    staged = std::max(staged, end);
  }
  isOpen = isSmall;
  bytes_ += bytes;
  return place;
}

bool etc::runtime::isDirect(BoxView around, BoxView part, unsigned elementBytes,
                            uint64_t pieceBytes) {
  return volume(part) * elementBytes >= ownPieceBytes(pieceBytes) &&
         isContiguous(around, part);
}

/// The box that a message's op is a part of at this end.
static BoxView boxAround(const PlanIndex &index, uint32_t program,
                         const Op &op) {
  const bool isSend = op.kind() == OpKind::send;
  const Side side = isSend ? plan::sourceSide(op) : plan::targetSide(op);
  const uint32_t tensor = isSend ? op.source() : op.tensor();
  const uint32_t shard =
      index.holdings(program, side)[*index.find(program, side, tensor)].shard;
  return index.shardBox(shard, *index.boxAround(shard, index.opBox(op)));
}

Staging::Lay Staging::layOutAt(uint32_t round, OpKind kind,
                               uint64_t alignment) const {
  const auto &stated = index.program(program);
  const bool stagesAll = kind == OpKind::recv && receivesAll_;
  std::vector<MessagePieces> messages(stated.peers()->size(),
                                      MessagePieces(alignment, pieceBytes));
  for (const Op *op : *stated.rounds()->Get(round)->ops()) {
    if (op->kind() != kind)
      continue;
    const BoxView around = boxAround(index, program, *op);
    const unsigned size = index.elementBytes(op->tensor());
    forEachPart(index.opBox(*op), index.opBytes(*op),
                pieceBytes > 0 ? pieceBytes : ~uint64_t{0}, [&](BoxView part) {
                  messages[op->peer()].add(
                      volume(part) * size,
                      !stagesAll && isDirect(around, part, size, pieceBytes));
                });
  }
  Lay lay{alignment, 0, 0, {}};
  for (const MessagePieces &message : messages) {
    lay.end = roundUp(lay.end, alignment);
    lay.messages.push_back(lay.end);
    lay.end += message.stagedBytes();
  }
  return lay;
}

/// The plan states the bytes of the messages. What goes directly leaves room
/// for gaps between pieces; where all that there is is staged, and its sizes
/// are odd, there may be too little, and it is laid without gaps.
Staging::Lay Staging::layOut(uint32_t round, OpKind kind) const {
  const auto &stated = index.program(program);
  const uint64_t slab =
      kind == OpKind::send ? stated.send_slab() : stated.recv_slab();
  Lay lay = layOutAt(round, kind, kPieceAlignment);
  if (lay.end > slab)
    lay = layOutAt(round, kind, 1);
  if (round % 2 == 1 && lay.end < slab) {
    const uint64_t shift = (slab - lay.end) / kSlabAlignment * kSlabAlignment;
    lay.begin += shift, lay.end += shift;
    for (uint64_t &message : lay.messages)
      message += shift;
  }
  return lay;
}

Staging::Staging(const PlanIndex &index, uint32_t program, uint64_t pieceBytes,
                 bool receivesAll)
    : index(index), program(program), pieceBytes(pieceBytes),
      receivesAll_(receivesAll) {
  const uint32_t count = index.program(program).rounds()->size();
  for (uint32_t round = 0; round != count; ++round)
    rounds.push_back(
        {layOut(round, OpKind::send), layOut(round, OpKind::recv)});
}
