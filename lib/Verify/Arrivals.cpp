//===- Arrivals.cpp - What was written of a tensor, and when --------------===//

#include "Arrivals.h"

using namespace etc;
using namespace mlir;

/// So many are looked through sooner than sorted.
static constexpr size_t fewWrites = 16;

static SmallVector<Piece, 0> piecesOf(ArrayRef<const Access *> accesses) {
  SmallVector<Piece, 0> pieces;
  pieces.reserve(accesses.size());
  for (const Access *access : accesses)
    pieces.push_back(access->piece);
  return pieces;
}

Arrivals::Arrivals(ArrayRef<Access> writes) : writes(writes) {
  if (writes.size() <= fewWrites)
    return;
  sorted.reserve(writes.size());
  for (const Access &write : writes)
    sorted.push_back(&write);
  const unsigned axis = findSearchAxis(piecesOf(sorted));
  llvm::stable_sort(sorted, [&](const Access *a, const Access *b) {
    return a->piece[axis].begin < b->piece[axis].begin;
  });
  search.emplace(piecesOf(sorted));
}

int64_t Arrivals::count(const Piece &piece, int64_t round) const {
  int64_t elements = 0;
  const auto [first, last] = find(piece);
  for (size_t place = first; place < last; ++place)
    if (get(place).round < round)
      if (std::optional<Piece> shared = intersect(get(place).piece, piece))
        elements += shared->size();
  return elements;
}

const Access *Arrivals::findRepeated() const {
  for (size_t place = 0; place < writes.size(); ++place) {
    const Piece &piece = get(place).piece;
    const size_t last = find(piece).second;
    for (size_t other = place + 1; other < last; ++other)
      if (intersects(piece, get(other).piece))
        return &get(other);
  }
  return nullptr;
}
