// The rules of the referee, one function a rule; private to it. Each relies on
// those before it.

#ifndef ETC_PLAN_REFEREERULES_H
#define ETC_PLAN_REFEREERULES_H

#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"
#include "etc/BoxSearch.h"

#include <optional>
#include <span>
#include <vector>

namespace etc::plan {

/// One op that writes a part of a current or transit shard.
struct Write {
  uint32_t round;
  uint32_t op;
  BoxView box;
};

/// What a program that obeys R2 writes: for every holding of a side, in its
/// order, the writes to it, ascending by round. All are in one list: there are
/// many holdings, of a write or two each.
class Writes {
public:
  Writes(const PlanIndex &index, uint32_t program, Side side);

  std::span<const Write> operator[](size_t holding) const {
    return std::span(all).subspan(ends[holding],
                                  ends[holding + 1] - ends[holding]);
  }

private:
  std::vector<Write> all;
  std::vector<uint32_t> ends; ///< in `all`, of the holdings before
};

std::vector<BoxView> boxesOf(std::span<const Write> writes);

/// Finds what is written of boxes of one holding.
class WrittenBoxes {
public:
  /// Of the writes of a holding, which are disjoint.
  explicit WrittenBoxes(std::span<const Write> writes);
  WrittenBoxes(const WrittenBoxes &) = delete;

  /// How many elements of a box are written before a round, and in it.
  struct Elements {
    uint64_t before = 0, now = 0;
  };
  Elements count(BoxView box, uint32_t round) const;

private:
  std::span<const Write> writes;
  std::vector<Write> sorted;       ///< along some axis, where many
  std::optional<BoxSearch> search; ///< of these
};

/// R2: every op names a source that it may read and boxes of shards that the
/// program holds.
Status checkPlaces(const PlanIndex &index, uint32_t program);
/// R1: every element of every current and every transit shard is written
/// exactly once.
Status checkCoverage(const PlanIndex &index, uint32_t program, Side side,
                     const Writes &writes);
/// R3: what a device sends to another in a round is what the other receives
/// from it, in order.
Status checkPairing(const PlanIndex &index);
/// R4, R5: nothing is read before it is written or after it is released, or
/// released twice.
Status checkLiveness(const PlanIndex &index, uint32_t program,
                     const Writes &writes);
/// R9: a transit shard is read after it was written, and released once, after
/// the last read.
Status checkTransit(const PlanIndex &index, uint32_t program,
                    const Writes &writes);
/// R6: slabs and peaks are as stated.
Status checkMemory(const PlanIndex &index, uint32_t program);
/// R10: rounds that are deferred, and only these, move deferred tensors.
Status checkDeferred(const PlanIndex &index, uint32_t program);
/// R7: summary, forecast and placement follow from the programs.
Status checkSummary(const PlanIndex &index);
/// R8: the bounds are what the certificates' duals add up to.
Status checkBounds(const PlanIndex &index);

/// "programs[3].rounds[17].ops[2]".
std::string opPath(uint32_t program, uint32_t round, uint32_t op);

/// Whether an op writes a shard, of the side that targetSide() says.
inline bool isWrite(const fb::Op &op) {
  return op.kind() != fb::OpKind::send && op.kind() != fb::OpKind::release;
}

inline const flatbuffers::Vector<const fb::Op *> &
opsOf(const PlanIndex &index, uint32_t program, uint32_t round) {
  return *index.program(program).rounds()->Get(round)->ops();
}

inline uint32_t roundsOf(const PlanIndex &index, uint32_t program) {
  return index.program(program).rounds()->size();
}

} // namespace etc::plan

#endif // ETC_PLAN_REFEREERULES_H
