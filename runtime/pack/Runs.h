// The contiguous runs of a box within two dense row-major boxes around it.

#ifndef ETC_RUNTIME_PACK_RUNS_H
#define ETC_RUNTIME_PACK_RUNS_H

#include "plan/Box.h"

#include <array>

namespace etc::runtime {

using plan::Box;

/// Calls visit(fromIndex, toIndex, count) for runs of elements of `part` that
/// are contiguous in `from` and in `to`, both of which contain it, in row-major
/// order. Indices count elements from the first one of `from` and of `to`. Axes
/// that `part` spans in both boxes are merged, so that a whole tensor is one
/// run.
template <typename Visit>
void forEachRun(Box from, Box to, Box part, Visit visit) {
  unsigned inner = part.rank() - 1;
  uint64_t run = part.extent(inner);
  while (inner > 0 && part.extent(inner) == from.extent(inner) &&
         part.extent(inner) == to.extent(inner))
    run *= part.extent(--inner);

  // Row-major strides and the index of the first run.
  std::array<uint64_t, plan::kMaxRank> fromStride, toStride, position{};
  uint64_t fromIndex = 0, toIndex = 0, fromUnit = 1, toUnit = 1;
  for (unsigned axis = part.rank(); axis-- > 0;) {
    fromStride[axis] = fromUnit;
    toStride[axis] = toUnit;
    fromIndex += fromUnit * (part.begin(axis) - from.begin(axis));
    toIndex += toUnit * (part.begin(axis) - to.begin(axis));
    fromUnit *= from.extent(axis);
    toUnit *= to.extent(axis);
  }

  // An odometer over the axes outside the run.
  while (true) {
    visit(fromIndex, toIndex, run);
    unsigned axis = inner;
    while (axis-- > 0) {
      fromIndex += fromStride[axis];
      toIndex += toStride[axis];
      if (++position[axis] < static_cast<uint64_t>(part.extent(axis)))
        break;
      fromIndex -= position[axis] * fromStride[axis];
      toIndex -= position[axis] * toStride[axis];
      position[axis] = 0;
    }
    if (axis == ~0u)
      return;
  }
}

} // namespace etc::runtime

#endif // ETC_RUNTIME_PACK_RUNS_H
