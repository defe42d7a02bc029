//===- CrossingBytes.cpp - What some roles need and others held -----------===//

#include "CrossingBytes.h"

#include "Uncovered.h"

#include <algorithm>

using namespace etc;

CrossingBytes::Side &CrossingBytes::sideOf(Piece &piece) {
  piece.tensor = table.getPrimary(piece.tensor).value_or(piece.tensor);
  return sides[{piece.tensor, piece.layer, piece.expert}];
}

void CrossingBytes::addHolder(int64_t prevRole) {
  for (Piece piece : oracle.holdings(etc::Side::Prev, prevRole))
    sideOf(piece).held.push_back(piece);
}

/// Padding that is new is made, not moved.
void CrossingBytes::addNeeder(int64_t currRole) {
  for (const Piece &piece : oracle.holdings(etc::Side::Curr, currRole)) {
    const std::optional<Piece> old = oracle.wholeOnPrev(piece);
    if (!old)
      continue;
    if (std::optional<Piece> common = intersect(piece, *old))
      sideOf(*common).needed.push_back(*common);
  }
}

/// Roles that hold alike list the same boxes.
static void addMarks(std::vector<Piece> boxes, bool isNeeded,
                     std::vector<Mark<Piece>> &marks) {
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
    std::vector<Mark<Piece>> marks;
    addMarks(side.held, false, marks);
    addMarks(side.needed, true, marks);
    const Piece one = {std::get<0>(key), 0, 0, {0, 1}, {0, 1}, {0, 1}};
    bytes += countUncovered(std::move(marks)) *
             (ofPause ? table.getUrgentBytes(one) : table.getMovedBytes(one));
  }
  return bytes;
}
