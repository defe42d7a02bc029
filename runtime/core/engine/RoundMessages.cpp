#include "core/engine/RoundMessages.h"

#include "core/pack/Parts.h"
#include "core/pack/Runs.h"

using namespace etc;
using namespace etc::runtime;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

constexpr uint32_t kNone = ~uint32_t{0};

uint32_t RoundMessages::rankOfSlot(uint32_t slot) const {
  const auto &peers = *index.program(participant.program).peers();
  return *index.rankOf(peers.Get(slot)->devices()->Get(participant.replica));
}

/// One message a peer and direction.
void RoundMessages::begin(uint32_t round, Slabs slabs, const Keeping &keeping) {
  const bool hasLanded = keeping.landed(rank) > round;
  ops = index.program(participant.program).rounds()->Get(round)->ops();
  const size_t slots = index.program(participant.program).peers()->size();
  std::vector<uint64_t> sendBytes(slots), recvBytes(slots);
  for (const Op *op : *ops) {
    if (op->kind() == OpKind::send &&
        keeping.landed(rankOfSlot(op->peer())) <= round)
      sendBytes[op->peer()] += index.opBytes(*op);
    if (op->kind() == OpKind::recv && !hasLanded)
      recvBytes[op->peer()] += index.opBytes(*op);
  }
  outgoing.clear(), incoming.clear(), packs.clear(), unpacks.clear();
  hashes.clear(), sends.clear(), recvs.clear();
  outgoingOfSlot.assign(slots, kNone);
  incomingOfSlot.assign(slots, kNone);
  const Staging::Round *staged = staging ? &staging->round(round) : nullptr;
  auto open = [&](std::span<std::byte> slab, const Staging::Lay *lay,
                  uint32_t slot) {
    return Message{lay ? slab.data() + lay->messages[slot] : nullptr,
                   MessagePieces(lay ? lay->alignment : 1, pieceBytes),
                   {},
                   {},
                   {}};
  };
  for (uint32_t slot = 0; slot != slots; ++slot) {
    if (uint64_t bytes = sendBytes[slot]) {
      outgoingOfSlot[slot] = outgoing.size();
      outgoing.push_back({rankOfSlot(slot), bytes, {}, {}});
      sends.push_back(open(slabs.send, staged ? &staged->send : nullptr, slot));
    }
    if (uint64_t bytes = recvBytes[slot]) {
      incomingOfSlot[slot] = incoming.size();
      incoming.push_back({rankOfSlot(slot), bytes, {}, {}});
      recvs.push_back(open(slabs.recv, staged ? &staged->recv : nullptr, slot));
    }
  }
}

/// Where the next op of a message is, and a piece for it.
std::byte *RoundMessages::append(Message &message, uint64_t bytes,
                                 std::byte *direct) {
  const MessagePieces::Place place =
      message.layout.add(bytes, direct != nullptr);
  std::byte *data = direct ? direct : message.slab + place.offset;
  if (place.isNew)
    message.pieces.push_back({data, bytes});
  else
    message.pieces.back() = {message.pieces.back().data(),
                             message.pieces.back().size() + bytes};
  return data;
}

/// The part's own memory where a piece can be it, else null.
std::byte *RoundMessages::directMemory(BoxView part, unsigned elementBytes,
                                       Region region) const {
  if (!isDirect(region.box, part, elementBytes, pieceBytes))
    return nullptr;
  return region.data +
         shapeOfRuns(region.box, part, part).fromIndex * elementBytes;
}

/// A move that its message's hash rides on.
void RoundMessages::addMove(Move move, uint64_t position,
                            PieceMoves::Position at, PieceMoves &moves) {
  if (isHashed) {
    move.position = position;
    move.sum = static_cast<uint32_t>(at.message);
  }
  const bool isHash = move.kind == MoveKind::Hash;
  if (isHash && !isHashed)
    return;
  if (isHash && pieceBytes == 0 && &moves == &packs)
    hashes.push_back(move);
  else
    moves.add(at, move);
}

/// Calls visit(part, bytes) for what an op is in its message.
template <typename Visit>
void RoundMessages::forEachPiece(const Op &op, Visit visit) const {
  const unsigned size = index.elementBytes(op.tensor());
  forEachPart(index.opBox(op), index.opBytes(op),
              pieceBytes > 0 ? pieceBytes : ~uint64_t{0},
              [&](BoxView part) { visit(part, volume(part) * size); });
}

void RoundMessages::layOutSend(const Op &op, const DeviceState &state) {
  const uint32_t at = outgoingOfSlot[op.peer()];
  Message &message = sends[at];
  BoxView box = index.opBox(op);
  Region from = state.around(plan::sourceSide(op), op.source(), box);
  if (sharesMemory) {
    message.views.push_back({{from.data, from.box}, box});
    return;
  }
  const unsigned size = index.elementBytes(op.tensor());
  forEachPiece(op, [&](BoxView part, uint64_t bytes) {
    const uint64_t position = message.layout.bytes();
    std::byte *direct = directMemory(part, size, from);
    std::byte *data = append(message, bytes, direct);
    addMove(direct ? hashMove(data, bytes)
                   : copyMove({from.data, from.box}, {data, part}, part, size),
            position, {at, message.pieces.size() - 1}, packs);
  });
}

void RoundMessages::layOutRecv(const Op &op, const DeviceState &state) {
  if (sharesMemory)
    return;
  const uint32_t at = incomingOfSlot[op.peer()];
  Message &message = recvs[at];
  Region to = state.around(plan::targetSide(op), op.tensor(), index.opBox(op));
  const unsigned size = index.elementBytes(op.tensor());
  forEachPiece(op, [&](BoxView part, uint64_t bytes) {
    const uint64_t position = message.layout.bytes();
    std::byte *direct =
        staging->receivesAll() ? nullptr : directMemory(part, size, to);
    std::byte *data = append(message, bytes, direct);
    addMove(direct ? hashMove(data, bytes)
                   : copyMove({data, part}, to, part, size),
            position, {at, message.pieces.size() - 1}, unpacks);
  });
}

void RoundMessages::layOut(uint32_t round, const DeviceState &state,
                           Slabs slabs, const Keeping &keeping) {
  begin(round, slabs, keeping);
  for (const Op *op : *ops) {
    if (op->kind() == OpKind::send && outgoingOfSlot[op->peer()] != kNone)
      layOutSend(*op, state);
    if (op->kind() == OpKind::recv && incomingOfSlot[op->peer()] != kNone)
      layOutRecv(*op, state);
  }
  packs.arrange();
  unpacks.arrange();
  for (size_t i = 0; i != sends.size(); ++i) {
    sends[i].reads.assign(sends[i].pieces.begin(), sends[i].pieces.end());
    outgoing[i].pieces = sends[i].reads;
    outgoing[i].views = sends[i].views;
  }
  for (size_t i = 0; i != recvs.size(); ++i)
    incoming[i].pieces = recvs[i].pieces;
}

Status RoundMessages::readView(const Op &op, const View &view, Region to,
                               uint32_t peer, std::vector<Move> &moves) const {
  BoxView box = index.opBox(op);
  if (!(view.part == box))
    return Status(ErrorKind::Verification,
                  text("device ", index.device(peer), " sent ",
                       describe(view.part), " of ",
                       index.describeTensor(op.tensor()), ", ", describe(box),
                       " was expected"));
  moves.push_back(
      copyMove(view.around, to, box, index.elementBytes(op.tensor())));
  return Status::success();
}

Status RoundMessages::readViews(const DeviceState &state,
                                std::vector<Move> &moves) const {
  if (!sharesMemory)
    return Status::success();
  std::vector<size_t> taken(incoming.size());
  for (const Op *op : *ops) {
    if (op->kind() != OpKind::recv || incomingOfSlot[op->peer()] == kNone)
      continue;
    const uint32_t at = incomingOfSlot[op->peer()];
    Region to =
        state.around(plan::targetSide(*op), op->tensor(), index.opBox(*op));
    const View &view = incoming[at].views[taken[at]++];
    if (Status s = readView(*op, view, to, incoming[at].peer, moves); !s.ok())
      return s;
  }
  return Status::success();
}
