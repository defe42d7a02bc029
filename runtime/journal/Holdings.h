// What a device holds, as far as its journal tells.

#ifndef ETC_RUNTIME_JOURNAL_HOLDINGS_H
#define ETC_RUNTIME_JOURNAL_HOLDINGS_H

#include "journal/Journal.h"
#include "plan/PlanIndex.h"

namespace etc::runtime {

using plan::PlanIndex;
using plan::Side;

/// A part of a shard that is complete and right.
struct Piece {
  Side side;
  uint32_t tensor;
  uint32_t shard;
  bool isBound = false; // current; its memory is the previous shard's
  std::vector<std::vector<int64_t>> boxes; // disjoint bounds, within the shard
};

/// Everything that a device of a program holds: what is left of the previous
/// state, then what has landed of the current one. A shard that is bound is a
/// piece once, the current one.
std::vector<Piece> piecesOf(const PlanIndex &index, uint32_t program,
                            const Standing &standing);

/// Whether a previous shard goes in one of the first `rounds` rounds.
bool isReleased(const PlanIndex &index, uint32_t program, uint32_t tensor,
                uint32_t rounds);

/// The name under which an allocator keeps a shard's memory.
std::string memoryName(Side side, uint32_t tensor);
/// The same for a piece.
std::string memoryName(const Piece &piece);

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOURNAL_HOLDINGS_H
