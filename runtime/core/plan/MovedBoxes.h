// The boxes of a plan that is being condensed; private to condensePlan.

#ifndef ETC_PLAN_MOVEDBOXES_H
#define ETC_PLAN_MOVEDBOXES_H

#include "core/plan/BoxTable.h"

namespace etc::plan {

/// Gives the boxes of a plan their offsets in new bounds.
class MovedBoxes {
public:
  /// Takes what `bounds` has, which becomes the new list.
  explicit MovedBoxes(std::vector<int64_t> &bounds)
      : old(std::move(bounds)), moved(old.size()), boxes(bounds) {}

  const int64_t *oldBounds() const { return old.data(); }
  BoxView oldBox(uint32_t offset, unsigned rank) const {
    return BoxView::ofBounds(old.data() + offset, rank);
  }
  /// The new offset of an old box.
  uint32_t move(uint32_t offset, unsigned rank) {
    Moved &entry = moved[offset];
    if (entry.rank != rank)
      entry = {rank, boxes.add(oldBox(offset, rank))};
    return entry.offset;
  }
  /// The new offset of a box that may be in neither list.
  uint32_t add(BoxView box) { return boxes.add(box); }

private:
  struct Moved {
    unsigned rank = 0; ///< no box has rank 0
    uint32_t offset = 0;
  };

  const std::vector<int64_t> old;
  /// By old offset, the box last moved from there: a plan names few boxes, each
  /// many times.
  std::vector<Moved> moved;
  BoxTable boxes;
};

} // namespace etc::plan

#endif // ETC_PLAN_MOVEDBOXES_H
