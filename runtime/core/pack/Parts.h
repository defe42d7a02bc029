// Parts of a box that follow each other in its row-major order.

#ifndef ETC_RUNTIME_CORE_PACK_PARTS_H
#define ETC_RUNTIME_CORE_PACK_PARTS_H

#include "etc/Geometry.h"

#include <algorithm>

namespace etc::runtime {

/// Calls visit(part) for parts of whole rows of the outermost axis that has
/// several, none of much more than `most` bytes unless a row is. Boxes have
/// elements. The part is gone when visit() returns.
template <typename Visit>
void forEachPart(BoxView box, uint64_t bytes, uint64_t most, Visit visit) {
  unsigned axis = 0;
  while (axis + 1 < box.rank() && box[axis].size() == 1)
    ++axis;
  const auto rows = static_cast<uint64_t>(box[axis].size());
  const uint64_t parts = std::min(rows, (bytes - 1) / most + 1);
  auto rowAt = [&](uint64_t number) {
    return box[axis].begin + static_cast<int64_t>(rows * number / parts);
  };
  Box part(box);
  for (uint64_t number = 0; number != parts; ++number) {
    part[axis] = {rowAt(number), rowAt(number + 1)};
    visit(BoxView(part));
  }
}

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_PACK_PARTS_H
