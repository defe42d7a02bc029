// The previous state of a migration is in safetensors files.

#ifndef ETC_RUNTIME_STATE_SOURCE_STOREDSTATE_H
#define ETC_RUNTIME_STATE_SOURCE_STOREDSTATE_H

#include "core/engine/StateSource.h"
#include "state/checkpoint/Checkpoint.h"

#include <span>

namespace etc::runtime {

using plan::PlanIndex;
using plan::Side;

/// What a tensor has to be on either side follows from the files alone: a tied
/// copy that is not there equals its twin, and elements outside of the stored
/// shape (rows of padding) are zero. So the result of a migration is compared
/// with them, without the plan's operations.
class StoredState final : public StateSource {
public:
  explicit StoredState(Checkpoint checkpoint)
      : checkpoint(std::move(checkpoint)) {}

  /// Whether all that the ranks hold on one side is there. The error names the
  /// first tensors that are not, and what can be done.
  Status checkSide(const PlanIndex &index, std::span<const uint32_t> ranks,
                   Side side) const;

  /// Of the previous or the current side.
  Result<uint64_t> read(const PlanIndex &index, uint32_t device,
                        uint32_t tensor, Region region) const override;
  Status check(const PlanIndex &index, uint32_t device, uint32_t tensor,
               ConstRegion region) const override;

private:
  Status describeMissing(const PlanIndex &index,
                         const std::vector<uint32_t> &missing) const;

  Checkpoint checkpoint;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_SOURCE_STOREDSTATE_H
