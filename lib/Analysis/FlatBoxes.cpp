//===- FlatBoxes.cpp - Elements in a row as boxes -------------------------===//

#include "etc/Analysis/FlatBoxes.h"

#include "llvm/Support/MathExtras.h"

using namespace etc;
using llvm::SmallVectorImpl;

void etc::appendFlatBoxes(const Piece &shard, int64_t begin, int64_t end,
                          SmallVectorImpl<Piece> &pieces) {
  if (begin >= end)
    return;
  Piece box = shard;
  auto appendRows = [&](Piece rows, int64_t from, int64_t to) {
    // Elements [from, to) of one outer position.
    int64_t width = rows.inner.size();
    auto add = [&](int64_t first, int64_t last, int64_t left, int64_t right) {
      if (first >= last || left >= right)
        return;
      Piece part = rows;
      part.cut = {shard.cut.begin + first, shard.cut.begin + last};
      part.inner = {shard.inner.begin + left, shard.inner.begin + right};
      pieces.push_back(part);
    };
    int64_t top = from / width, bottom = to / width;
    if (top == bottom)
      return add(top, top + 1, from % width, to % width);
    if (from % width)
      add(top, top + 1, from % width, width);
    add(llvm::divideCeil(from, width), bottom, 0, width);
    add(bottom, bottom + 1, 0, to % width);
  };
  int64_t plane = shard.cut.size() * shard.inner.size();
  int64_t front = begin / plane, back = end / plane;
  auto slab = [&](int64_t first, int64_t last) {
    box.outer = {shard.outer.begin + first, shard.outer.begin + last};
    return box;
  };
  if (front == back)
    return appendRows(slab(front, front + 1), begin % plane, end % plane);
  if (begin % plane)
    appendRows(slab(front, front + 1), begin % plane, plane);
  if (int64_t first = llvm::divideCeil(begin, plane); first < back)
    pieces.push_back(slab(first, back));
  if (end % plane)
    appendRows(slab(back, back + 1), 0, end % plane);
}
