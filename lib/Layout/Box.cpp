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

namespace {
/// Cuts a flat range into boxes: at each axis a part of the first index, the
/// whole indices between, and a part of the last.
class FlatCutter {
public:
  explicit FlatCutter(const Box &box) : box(box), fixed(box) {}

  /// Cuts what the axes from `axis` on make, those before being fixed.
  void cut(size_t axis, Range range);

  llvm::SmallVector<Box> boxes;

private:
  const Box &box;
  Box fixed;
};
} // namespace

void FlatCutter::cut(size_t axis, Range range) {
  if (!range.size())
    return;
  int64_t inner = 1;
  for (size_t behind = axis + 1; behind < box.size(); ++behind)
    inner *= box[behind].size();
  int64_t first = range.begin / inner, last = range.end / inner;
  auto partOf = [&](int64_t index, Range part) {
    if (!part.size())
      return;
    int64_t at = box[axis].begin + index;
    fixed[axis] = {at, at + 1};
    cut(axis + 1, part);
    fixed[axis] = box[axis];
  };
  if (int64_t skipped = range.begin % inner) {
    partOf(first, {skipped, std::min(inner, range.end - first * inner)});
    ++first;
  }
  if (first < last) {
    fixed[axis] = {box[axis].begin + first, box[axis].begin + last};
    boxes.push_back(fixed);
    fixed[axis] = box[axis];
  }
  if (first <= last)
    partOf(last, {0, range.end - last * inner});
}

llvm::SmallVector<Box> etc::layout::flatBoxes(const Box &box, Range range) {
  FlatCutter cutter(box);
  cutter.cut(0, range);
  return std::move(cutter.boxes);
}
