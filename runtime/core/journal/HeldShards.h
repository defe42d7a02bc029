// What a device holds, as far as its journal tells.

#ifndef ETC_RUNTIME_CORE_JOURNAL_HELDSHARDS_H
#define ETC_RUNTIME_CORE_JOURNAL_HELDSHARDS_H

#include "core/journal/Journal.h"
#include "core/plan/PlanIndex.h"

namespace etc::runtime {

using plan::PlanIndex;
using plan::Side;

/// What a device has of a shard, complete and right.
struct HeldShard {
  Side side;
  uint32_t tensor;
  uint32_t shard;
  bool isBound = false;   // current; its memory is the previous shard's
  std::vector<Box> boxes; // disjoint, within the shard
};

/// Everything that a device of a program holds: what is left of the previous
/// state, then what has landed of the current one, then what has landed to be
/// passed on and was not yet. A shard that is bound is there once, as the
/// current one.
std::vector<HeldShard> heldShards(const PlanIndex &index, uint32_t program,
                                  const Standing &standing);

/// Whether a previous shard goes in one of the first `rounds` rounds.
bool isReleased(const PlanIndex &index, uint32_t program, uint32_t tensor,
                uint32_t rounds);

/// The name under which an allocator keeps a shard's memory.
std::string memoryName(Side side, uint32_t tensor);
std::string memoryName(const HeldShard &held);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_JOURNAL_HELDSHARDS_H
