// What the referee and the executor look up in a plan: who runs which program,
// what a program holds, which box an op names.

#ifndef ETC_PLAN_PLANINDEX_H
#define ETC_PLAN_PLANINDEX_H

#include "core/plan/TensorSize.h"
#include "core/plan/World.h"
#include "etc/Geometry.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace etc::plan {

/// Of what a program holds: before, after, and in between what it passes on
/// without keeping it.
enum class Side { Prev, Curr, Transit };

/// Where a send reads.
inline Side sourceSide(const fb::Op &op) {
  if (op.transit())
    return Side::Transit;
  return op.from_curr() ? Side::Curr : Side::Prev;
}
/// Where all ops but sends and releases write.
inline Side targetSide(const fb::Op &op) {
  return op.transit() ? Side::Transit : Side::Curr;
}
/// What a release frees.
inline Side releasedSide(const fb::Op &op) {
  return op.transit() ? Side::Transit : Side::Prev;
}
/// "previous", for messages.
const char *sideName(Side side);

/// One tensor that a program holds on one side.
struct Holding {
  uint32_t tensor;
  uint32_t shard;
};

/// What a participant runs.
struct Participant {
  uint32_t program;
  uint32_t replica;
};

/// Lookups in a plan that passed checkFormat. It refers to the plan, which has
/// to outlive it, and never changes, so threads share it.
class PlanIndex {
public:
  explicit PlanIndex(const fb::Plan &plan);

  const fb::Plan &plan() const { return *plan_; }

  // Tensors.
  const fb::Tensor &tensor(uint32_t tensor) const {
    return *plan_->tensors()->Get(tensor);
  }
  unsigned elementBytes(uint32_t tensor) const {
    return facts_[tensor].elementBytes;
  }
  bool isDeferred(uint32_t tensor) const { return facts_[tensor].isDeferred; }
  /// The tensor that `tensor` is a copy of, or itself.
  uint32_t primary(uint32_t tensor) const { return facts_[tensor].primary; }
  /// "embedding.weight (param)".
  std::string describeTensor(uint32_t tensor) const;

  // Boxes. Views into the plan.
  BoxView opBox(const fb::Op &op) const { return boxAt(op.box(), op.tensor()); }
  uint64_t opBytes(const fb::Op &op) const {
    return mulBytes(volume(opBox(op)), elementBytes(op.tensor()));
  }
  uint32_t boxCount(uint32_t shard) const {
    return plan_->shards()->Get(shard)->box_count();
  }
  BoxView shardBox(uint32_t shard, uint32_t index) const;
  uint64_t shardBytes(uint32_t shard) const { return shardBytes_[shard]; }

  // Rounds.
  /// Those from this one on run after the pause; the number of rounds where
  /// none does.
  uint32_t firstDeferredRound() const {
    return plan_->forecast()->size() - plan_->deferred_rounds();
  }
  bool hasTail() const { return plan_->deferred_rounds() > 0; }

  // Programs.
  uint32_t programCount() const { return plan_->programs()->size(); }
  const fb::Program &program(uint32_t program) const {
    return *plan_->programs()->Get(program);
  }
  /// Sorted by tensor.
  std::span<const Holding> holdings(uint32_t program, Side side) const {
    return holdings_[static_cast<size_t>(side)][program].all;
  }
  /// The position of a tensor in holdings().
  std::optional<size_t> find(uint32_t program, Side side,
                             uint32_t tensor) const;
  /// The position in the shard of the box that contains `box`.
  std::optional<uint32_t> boxAround(uint32_t shard, BoxView box) const;
  /// Whether a refer takes over the memory of a whole previous shard, in place
  /// of a copy. A shard of several boxes is taken over where the program refers
  /// to each of them.
  bool bindsMemory(uint32_t program, const fb::Op &op) const;

  // Devices. Rank r is participant r.
  uint32_t rankCount() const { return world_.participants.size(); }
  uint32_t device(uint32_t rank) const { return world_.participants[rank]; }
  /// Of all ranks, ascending.
  const std::vector<uint32_t> &participants() const {
    return world_.participants;
  }
  /// The devices of each node.
  const std::vector<uint32_t> &nodes() const { return world_.nodes; }
  std::optional<uint32_t> rankOf(uint32_t device) const;
  /// Whether the rank's program is here: of a slice, only its own is.
  bool hasProgramOf(uint32_t rank) const {
    return !plan_->slice() || plan_->slice()->rank() == rank;
  }
  /// Needs the rank's program.
  Participant participant(uint32_t rank) const { return participants_[rank]; }
  uint32_t nodeOf(uint32_t device) const;

private:
  struct TensorFacts {
    uint32_t primary;
    uint16_t rank;
    uint8_t elementBytes;
    bool isDeferred;
  };

  uint64_t sumShard(uint32_t shard) const;
  /// Whether an op refers to just one box of a shard.
  bool refersToBox(const fb::Op &op, uint32_t shard) const;
  bool refersToWhole(uint32_t program, uint32_t shard) const;
  BoxView boxAt(uint32_t offset, uint32_t tensor) const {
    return BoxView::ofBounds(bounds_ + offset, facts_[tensor].rank);
  }

  const fb::Plan *plan_;
  const int64_t *bounds_;
  std::vector<TensorFacts> facts_;
  std::vector<uint64_t> shardBytes_;
  /// Of one program on one side.
  struct Holdings {
    std::vector<Holding> all;
    double perTensor; ///< how many there are for each number of a tensor
  };
  /// By side and program.
  std::array<std::vector<Holdings>, 3> holdings_;
  World world_;
  std::vector<Participant> participants_;
  std::vector<uint64_t> nodeEnds_;
};

} // namespace etc::plan

#endif // ETC_PLAN_PLANINDEX_H
