// A box cut into parts that follow each other in its row-major order.

#ifndef ETC_RUNTIME_PACK_PARTS_H
#define ETC_RUNTIME_PACK_PARTS_H

#include "plan/Box.h"

#include <algorithm>
#include <array>

namespace etc::runtime {

using plan::Box;

/// Calls visit(part) for parts of whole rows of the outermost axis that has
/// several, none of much more than `most` bytes unless a row is. Boxes have
/// elements. The part is gone when visit() returns.
template <typename Visit>
void forEachPart(Box box, uint64_t bytes, uint64_t most, Visit visit) {
  unsigned axis = 0;
  while (axis + 1 < box.rank() && box.extent(axis) == 1)
    ++axis;
  const auto rows = static_cast<uint64_t>(box.extent(axis));
  const uint64_t parts = std::min(rows, (bytes - 1) / most + 1);
  std::array<int64_t, 2 * plan::kMaxRank> bounds;
  std::ranges::copy(box.bounds(), bounds.begin());
  for (uint64_t part = 0; part != parts; ++part) {
    bounds[2 * axis] =
        box.begin(axis) + static_cast<int64_t>(rows * part / parts);
    bounds[2 * axis + 1] =
        box.begin(axis) + static_cast<int64_t>(rows * (part + 1) / parts);
    visit(Box(bounds.data(), box.rank()));
  }
}

} // namespace etc::runtime

#endif // ETC_RUNTIME_PACK_PARTS_H
