//===- Box.cpp - Half-open ranges -----------------------------------------===//

#include "etc/Layout/Layout.h"

#include <algorithm>
#include <cassert>

using namespace etc::layout;

Range etc::layout::intersect(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

int64_t etc::layout::volume(const Box &box) {
  int64_t elements = 1;
  for (Range range : box)
    elements *= range.size();
  return elements;
}

int64_t etc::layout::sharedVolume(const Box &a, const Box &b) {
  assert(a.size() == b.size() && "boxes of different ranks");
  int64_t elements = 1;
  for (size_t axis = 0; axis < a.size(); ++axis)
    elements *= intersect(a[axis], b[axis]).size();
  return elements;
}
