//===- CrossingBytes.cpp - What some roles need and others held -----------===//

#include "CrossingBytes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace etc;
using llvm::ArrayRef;

namespace {
/// A box, and whether it is needed or held.
struct Mark {
  Piece box;
  bool isNeeded;
};
} // namespace

/// Elements of needed boxes that no held one has, by a sweep over an axis.
/// Between two neighbouring ends of boxes the same boxes are open: what they
/// make up there is a question of the other axes.
static int64_t countNeeded(std::vector<Mark> marks, unsigned axis = 0) {
  if (llvm::none_of(marks, [](const Mark &m) { return m.isNeeded; }))
    return 0;
  if (axis == Piece::rank())
    return llvm::all_of(marks, [](const Mark &m) { return m.isNeeded; });
  std::sort(marks.begin(), marks.end(), [&](const Mark &a, const Mark &b) {
    return a.box[axis].begin < b.box[axis].begin;
  });
  std::vector<Mark> open;
  int64_t total = 0, position = marks.front().box[axis].begin;
  for (size_t next = 0; next < marks.size() || !open.empty();) {
    while (next < marks.size() && marks[next].box[axis].begin <= position)
      open.push_back(marks[next++]);
    llvm::erase_if(open,
                   [&](const Mark &m) { return m.box[axis].end <= position; });
    int64_t until = next < marks.size() ? marks[next].box[axis].begin
                                        : std::numeric_limits<int64_t>::max();
    for (const Mark &mark : open)
      until = std::min(until, mark.box[axis].end);
    if (!open.empty())
      total += (until - position) * countNeeded(open, axis + 1);
    position = until;
  }
  return total;
}

CrossingBytes::Side &CrossingBytes::sideOf(Piece &piece) {
  piece.tensor = table.getTwin(piece.tensor).value_or(piece.tensor);
  return sides[{piece.tensor, piece.layer, piece.expert}];
}

void CrossingBytes::addHolder(int64_t prevRole) {
  for (Piece piece : oracle.holdings(etc::Side::Prev, prevRole))
    sideOf(piece).held.push_back(piece);
}

/// Padding that is new is made, not moved.
void CrossingBytes::addNeeder(int64_t currRole) {
  for (Piece piece : oracle.holdings(etc::Side::Curr, currRole)) {
    const Piece old = table.getWhole(oracle.sourceOf(piece.tensor), piece.layer,
                                     piece.expert, etc::Side::Prev);
    if (std::optional<Piece> common = intersect(piece, old))
      sideOf(*common).needed.push_back(*common);
  }
}

/// Roles that hold alike list the same boxes.
static void addMarks(std::vector<Piece> boxes, bool isNeeded,
                     std::vector<Mark> &marks) {
  std::sort(boxes.begin(), boxes.end());
  boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
  for (const Piece &box : boxes)
    marks.push_back({box, isNeeded});
}

int64_t CrossingBytes::count(bool ofPause) const {
  int64_t bytes = 0;
  for (const auto &[key, side] : sides) {
    if (side.needed.empty())
      continue;
    std::vector<Mark> marks;
    addMarks(side.held, false, marks);
    addMarks(side.needed, true, marks);
    const Piece one = {std::get<0>(key), 0, 0, {0, 1}, {0, 1}, {0, 1}};
    bytes += countNeeded(std::move(marks)) *
             (ofPause ? table.getUrgentBytes(one) : table.getMovedBytes(one));
  }
  return bytes;
}
