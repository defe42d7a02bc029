#include "core/engine/PieceMoves.h"

#include <algorithm>

using namespace etc::runtime;

void PieceMoves::clear() {
  added.clear();
  positions.clear();
  moves.clear();
}

void PieceMoves::arrange() {
  std::stable_sort(
      added.begin(), added.end(),
      [](const Entry &a, const Entry &b) { return a.position < b.position; });
  for (const Entry &entry : added) {
    positions.push_back(entry.position);
    moves.push_back(entry.move);
  }
  added.clear();
}

std::span<const Move> PieceMoves::of(Position position) const {
  auto [first, last] =
      std::equal_range(positions.begin(), positions.end(), position);
  return std::span(moves).subspan(first - positions.begin(), last - first);
}
