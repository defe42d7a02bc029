// Which pieces of messages go through slabs, and where they lie in them.

#ifndef ETC_RUNTIME_CORE_ENGINE_STAGING_H
#define ETC_RUNTIME_CORE_ENGINE_STAGING_H

#include "core/pack/Copy.h"
#include "core/plan/PlanIndex.h"

#include <vector>

namespace etc::runtime {

using plan::PlanIndex;

/// Where slabs begin: what devices read at once without a penalty.
constexpr uint64_t kSlabAlignment = 256;
/// Where pieces begin in them: NCCL and kernels move less at a time what is not
/// so aligned.
constexpr uint64_t kPieceAlignment = 16;

/// From here on a copy costs more than a piece of its own. Where the transport
/// cuts large ops into pieces, these are hardly ever below it.
uint64_t ownPieceBytes(uint64_t pieceBytes);

/// The pieces of one message, op by op. A large op is a piece of its own; runs
/// of small ones are packed into one. Both ends have the same ops, so they cut
/// alike; which pieces are staged is each end's own affair. Where a message
/// goes by the piece, one at a time is staged: they take turns in one place,
/// which stays in the cache.
class MessagePieces {
public:
  struct Place {
    bool isNew;      // a new piece, else the last one grows
    uint64_t offset; // in the slab, from the message's part of it
  };

  /// `pieceBytes`: see Transport::pieceBytes().
  MessagePieces(uint64_t alignment, uint64_t pieceBytes)
      : alignment(alignment), ownPiece(ownPieceBytes(pieceBytes)),
        takesTurns(pieceBytes > 0) {}

  /// The next op, or part of one; `isDirect` where the tensor is the piece.
  Place add(uint64_t bytes, bool isDirect);

  uint64_t bytes() const { return bytes_; }
  uint64_t stagedBytes() const { return staged; } // at once

private:
  uint64_t alignment, ownPiece;
  bool takesTurns;
  uint64_t bytes_ = 0, staged = 0;
  uint64_t end = 0;    // of the last piece that is staged
  bool isOpen = false; // the last piece takes more small ops
};

/// Whether a part of a shard's box can be a piece where it is.
bool isDirect(BoxView around, BoxView part, unsigned elementBytes,
              uint64_t pieceBytes);

/// What each round of a program has in its slabs: messages one after the other,
/// those of even rounds from the beginning and those of odd ones up to the end,
/// so that two rounds that follow each other meet as little as possible.
class Staging {
public:
  /// One slab in one round.
  struct Lay {
    uint64_t alignment = kPieceAlignment; // of pieces
    uint64_t begin = 0, end = 0;
    std::vector<uint64_t> messages; // by peer slot: where its part begins

    bool meets(const Lay &other) const {
      return begin < other.end && other.begin < end;
    }
  };
  struct Round {
    Lay send, recv;
  };

  /// `pieceBytes`: see Transport::pieceBytes(). With `receivesAll` nothing is
  /// received where it belongs.
  Staging(const PlanIndex &index, uint32_t program, uint64_t pieceBytes,
          bool receivesAll = false);

  const Round &round(uint32_t number) const { return rounds[number]; }
  bool receivesAll() const { return receivesAll_; }

private:
  Lay layOut(uint32_t round, plan::fb::OpKind kind) const;
  Lay layOutAt(uint32_t round, plan::fb::OpKind kind, uint64_t alignment) const;

  const PlanIndex &index;
  const uint32_t program;
  const uint64_t pieceBytes;
  const bool receivesAll_;
  std::vector<Round> rounds;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_STAGING_H
