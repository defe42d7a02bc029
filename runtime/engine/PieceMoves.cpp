#include "engine/PieceMoves.h"

#include <algorithm>

using namespace etc::runtime;

void PieceMoves::clear() {
  added.clear();
  places.clear();
  moves.clear();
}

void PieceMoves::arrange() {
  std::stable_sort(
      added.begin(), added.end(),
      [](const Entry &a, const Entry &b) { return a.place < b.place; });
  for (const Entry &entry : added) {
    places.push_back(entry.place);
    moves.push_back(entry.move);
  }
  added.clear();
}

std::span<const Move> PieceMoves::of(Place place) const {
  auto [first, last] = std::equal_range(places.begin(), places.end(), place);
  return std::span(moves).subspan(first - places.begin(), last - first);
}
