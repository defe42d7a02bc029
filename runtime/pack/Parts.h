// Parts of boxes: what two share, and cuts that follow each other in a box's
// row-major order.

#ifndef ETC_RUNTIME_PACK_PARTS_H
#define ETC_RUNTIME_PACK_PARTS_H

#include "plan/Box.h"

#include <algorithm>
#include <array>
#include <vector>

namespace etc::runtime {

using plan::Box;

/// The bounds of the box that two boxes share; they do.
inline std::vector<int64_t> intersection(Box a, Box b) {
  std::vector<int64_t> common;
  for (unsigned axis = 0; axis != a.rank(); ++axis) {
    common.push_back(std::max(a.begin(axis), b.begin(axis)));
    common.push_back(std::min(a.end(axis), b.end(axis)));
  }
  return common;
}

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
