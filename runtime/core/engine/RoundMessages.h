// The messages of one round: what they are made of, and the moves that make
// them and take them apart.

#ifndef ETC_RUNTIME_CORE_ENGINE_ROUNDMESSAGES_H
#define ETC_RUNTIME_CORE_ENGINE_ROUNDMESSAGES_H

#include "core/engine/DeviceState.h"
#include "core/engine/Keeping.h"
#include "core/engine/PieceMoves.h"
#include "core/engine/Staging.h"
#include "core/transport/Transport.h"

#include <vector>

namespace etc::runtime {

/// Staging memory of a device, as large as its program states.
struct Slabs {
  std::span<std::byte> send, recv;
};

/// All ops of a round between two devices are one message a direction, in
/// pieces (MessagePieces). A large op is one, or several where the transport
/// wants them smaller; it goes from where it is and to where it belongs if it
/// is contiguous there, else through a slab (Staging::receivesAll: always).
/// Where memory is shared nothing is staged: the receiver copies from the
/// sender's tensors into its own.
class RoundMessages {
public:
  using Ops = flatbuffers::Vector<const plan::fb::Op *>;

  RoundMessages(const PlanIndex &index, uint32_t rank,
                const Transport &transport, const Staging *staging,
                bool isHashed)
      : index(index), rank(rank), participant(index.participant(rank)),
        staging(staging), sharesMemory(transport.sharesMemory()),
        pieceBytes(transport.pieceBytes()), isHashed(isHashed) {}

  /// Begins a round. What it writes has memory. Messages that landed in an
  /// earlier attempt are left out.
  void layOut(uint32_t round, const DeviceState &state, Slabs slabs,
              const Keeping &keeping);

  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  /// Before a piece can go, and after it came. Sum i is the hash of outgoing or
  /// incoming message i, or zero where none is asked for.
  PieceMoves packs, unpacks;
  /// Hashes of pieces that go as they are, where messages go whole: these need
  /// not wait for them.
  std::vector<Move> hashes;

  /// The moves out of the sender's memory, where it is shared, after the
  /// messages came. The error is of kind Verification: a peer has sent
  /// something else.
  Status readViews(const DeviceState &state, std::vector<Move> &moves) const;

private:
  struct Message {
    std::byte *slab; // its part of it
    MessagePieces layout;
    std::vector<WritableBytes> pieces;
    std::vector<Bytes> reads;
    std::vector<View> views;
  };

  void begin(uint32_t round, Slabs slabs, const Keeping &keeping);
  static std::byte *append(Message &message, uint64_t bytes, std::byte *direct);
  template <typename Visit>
  void forEachPiece(const plan::fb::Op &op, Visit visit) const;
  void layOutSend(const plan::fb::Op &op, const DeviceState &state);
  void layOutRecv(const plan::fb::Op &op, const DeviceState &state);
  void addMove(Move move, uint64_t position, PieceMoves::Position at,
               PieceMoves &moves);
  Status readView(const plan::fb::Op &op, const View &view, Region to,
                  uint32_t peer, std::vector<Move> &moves) const;
  uint32_t rankOfSlot(uint32_t slot) const;
  std::byte *directMemory(BoxView part, unsigned elementBytes,
                          Region region) const;

  const PlanIndex &index;
  const uint32_t rank;
  const plan::Participant participant;
  const Staging *const staging; // null where memory is shared
  const bool sharesMemory;
  const uint64_t pieceBytes; // 0: no limit
  const bool isHashed;
  const Ops *ops = nullptr; // of the round
  /// By peer slot: positions in the lists.
  std::vector<uint32_t> outgoingOfSlot, incomingOfSlot;
  std::vector<Message> sends, recvs;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_ROUNDMESSAGES_H
