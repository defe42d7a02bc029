// The contiguous runs of a box within two dense row-major boxes around it.

#ifndef ETC_RUNTIME_PACK_RUNS_H
#define ETC_RUNTIME_PACK_RUNS_H

#include "plan/Box.h"

#include <array>

namespace etc::runtime {

using plan::Box;

/// How the elements of a part lie in two boxes that contain it: runs that are
/// contiguous in both, and an odometer over the axes outside of them. All
/// figures count elements; indices are from the first element of each box.
struct RunShape {
  uint64_t run = 1;
  unsigned axes = 0; // outside the run, outermost first
  std::array<uint64_t, plan::kMaxRank> extent, fromStride, toStride;
  uint64_t fromIndex = 0, toIndex = 0; // of the first run
};

/// Axes that `part` spans in both boxes are merged, so that a whole tensor is
/// one run.
inline RunShape shapeOfRuns(Box from, Box to, Box part) {
  RunShape shape;
  unsigned inner = part.rank() - 1;
  shape.run = part.extent(inner);
  while (inner > 0 && part.extent(inner) == from.extent(inner) &&
         part.extent(inner) == to.extent(inner))
    shape.run *= part.extent(--inner);
  shape.axes = inner;

  uint64_t fromUnit = 1, toUnit = 1;
  for (unsigned axis = part.rank(); axis-- > 0;) {
    shape.extent[axis] = part.extent(axis);
    shape.fromStride[axis] = fromUnit;
    shape.toStride[axis] = toUnit;
    shape.fromIndex += fromUnit * (part.begin(axis) - from.begin(axis));
    shape.toIndex += toUnit * (part.begin(axis) - to.begin(axis));
    fromUnit *= from.extent(axis);
    toUnit *= to.extent(axis);
  }
  return shape;
}

/// Calls visit(fromIndex, toIndex, count) for the runs of `part` in row-major
/// order.
template <typename Visit>
void forEachRun(Box from, Box to, Box part, Visit visit) {
  RunShape shape = shapeOfRuns(from, to, part);
  std::array<uint64_t, plan::kMaxRank> position{};
  uint64_t fromIndex = shape.fromIndex, toIndex = shape.toIndex;
  while (true) {
    visit(fromIndex, toIndex, shape.run);
    unsigned axis = shape.axes;
    while (axis-- > 0) {
      fromIndex += shape.fromStride[axis];
      toIndex += shape.toStride[axis];
      if (++position[axis] < shape.extent[axis])
        break;
      fromIndex -= position[axis] * shape.fromStride[axis];
      toIndex -= position[axis] * shape.toStride[axis];
      position[axis] = 0;
    }
    if (axis == ~0u)
      return;
  }
}

} // namespace etc::runtime

#endif // ETC_RUNTIME_PACK_RUNS_H
