//===- FlatBoxes.cpp - The boxes of a flat span ---------------------------===//

#include "etc/Layout/Layout.h"

#include <algorithm>

using namespace etc;
using namespace etc::layout;

namespace {
/// Cuts a flat span into boxes: at each axis a part of the first index, the
/// whole indices between, and a part of the last.
class FlatCutter {
public:
  explicit FlatCutter(const Box &box) : box(box), fixed(box) {}

  /// Cuts what the axes from `axis` on make, those before being fixed.
  void cut(unsigned axis, Span flat);

  llvm::SmallVector<Box> boxes;

private:
  const Box &box;
  Box fixed;
};
} // namespace

void FlatCutter::cut(unsigned axis, Span flat) {
  if (flat.empty())
    return;
  int64_t inner = 1;
  for (unsigned behind = axis + 1; behind < box.rank(); ++behind)
    inner *= box[behind].size();
  int64_t first = flat.begin / inner, last = flat.end / inner;
  auto partOf = [&](int64_t index, Span part) {
    if (part.empty())
      return;
    int64_t at = box[axis].begin + index;
    fixed[axis] = {at, at + 1};
    cut(axis + 1, part);
    fixed[axis] = box[axis];
  };
  if (int64_t skipped = flat.begin % inner) {
    partOf(first, {skipped, std::min(inner, flat.end - first * inner)});
    ++first;
  }
  if (first < last) {
    fixed[axis] = {box[axis].begin + first, box[axis].begin + last};
    boxes.push_back(fixed);
    fixed[axis] = box[axis];
  }
  if (first <= last)
    partOf(last, {0, flat.end - last * inner});
}

llvm::SmallVector<Box> etc::layout::flatBoxes(const Box &box, Span flat) {
  FlatCutter cutter(box);
  cutter.cut(0, flat);
  return std::move(cutter.boxes);
}
