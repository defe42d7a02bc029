// Where boxes of tensors are read from.

#ifndef ETC_RUNTIME_STATE_CHECKPOINT_BOXSOURCE_H
#define ETC_RUNTIME_STATE_CHECKPOINT_BOXSOURCE_H

#include "core/pack/Copy.h"
#include "core/plan/PlanIndex.h"

namespace etc::runtime {

/// State of a plan's previous side, in a checkpoint of whatever form.
class BoxSource {
public:
  virtual ~BoxSource() = default;
  /// Whether a box of a tensor can be read.
  virtual plan::Status check(const plan::PlanIndex &index, uint32_t tensor,
                             BoxView box) const = 0;
  /// Reads the elements of `part` of a tensor, in its previous planning shape,
  /// and no others. Returns the bytes.
  virtual plan::Result<uint64_t> read(const plan::PlanIndex &index,
                                      uint32_t tensor, Region to,
                                      BoxView part) const = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_CHECKPOINT_BOXSOURCE_H
