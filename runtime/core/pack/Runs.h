// The contiguous runs of a box within two dense row-major boxes around it.

#ifndef ETC_RUNTIME_CORE_PACK_RUNS_H
#define ETC_RUNTIME_CORE_PACK_RUNS_H

#include "core/plan/TensorSize.h"
#include "etc/Geometry.h"

#include <array>

namespace etc::runtime {

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
inline RunShape shapeOfRuns(BoxView from, BoxView to, BoxView part) {
  RunShape shape;
  unsigned inner = part.rank() - 1;
  shape.run = part[inner].size();
  while (inner > 0 && part[inner].size() == from[inner].size() &&
         part[inner].size() == to[inner].size())
    shape.run *= part[--inner].size();
  shape.axes = inner;

  uint64_t fromUnit = 1, toUnit = 1;
  for (unsigned axis = part.rank(); axis-- > 0;) {
    shape.extent[axis] = part[axis].size();
    shape.fromStride[axis] = fromUnit;
    shape.toStride[axis] = toUnit;
    shape.fromIndex += fromUnit * (part[axis].begin - from[axis].begin);
    shape.toIndex += toUnit * (part[axis].begin - to[axis].begin);
    fromUnit *= from[axis].size();
    toUnit *= to[axis].size();
  }
  return shape;
}

/// Calls visit(fromIndex, toIndex, count) for the runs of `part` in row-major
/// order.
template <typename Visit>
void forEachRun(BoxView from, BoxView to, BoxView part, Visit visit) {
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

#endif // ETC_RUNTIME_CORE_PACK_RUNS_H
