//===- Pieces.cpp - Arithmetic on parts of tensors ------------------------===//

#include "dialect/Workloads.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc;

std::optional<Piece> etc::intersect(const Piece &a, const Piece &b) {
  Piece shared{a.tensor,
               a.layer,
               a.expert,
               intersect(a.outer, b.outer),
               intersect(a.cut, b.cut),
               intersect(a.inner, b.inner)};
  if (shared.outer.size() <= 0 || shared.cut.size() <= 0 ||
      shared.inner.size() <= 0)
    return std::nullopt;
  return shared;
}

/// Cuts off what `rest` has before and behind `hole` along one axis; `rest` is
/// then within it there.
static void peel(Piece &rest, const Piece &hole, Span Piece::*axis,
                 llvm::SmallVectorImpl<Piece> &parts) {
  auto add = [&](Span span) {
    if (span.size() <= 0)
      return;
    parts.push_back(rest);
    parts.back().*axis = span;
  };
  Span from = rest.*axis, gap = hole.*axis;
  add({from.begin, gap.begin});
  add({gap.end, from.end});
  rest.*axis = gap;
}

llvm::SmallVector<Piece> etc::subtract(const Piece &a, const Piece &b) {
  std::optional<Piece> hole = intersect(a, b);
  if (!hole)
    return {a};
  llvm::SmallVector<Piece> parts;
  Piece rest = a;
  for (Span Piece::*axis : {&Piece::outer, &Piece::cut, &Piece::inner})
    peel(rest, *hole, axis, parts);
  return parts;
}

/// Joins neighbours in the list that continue each other along `axis` and are
/// alike along the others.
static void joinAlong(llvm::SmallVectorImpl<Piece> &pieces, Span Piece::*axis) {
  size_t kept = 0;
  for (const Piece &piece : pieces) {
    if (kept > 0) {
      Piece joined = pieces[kept - 1];
      (joined.*axis).end = (piece.*axis).end;
      Piece wanted = piece;
      (wanted.*axis).begin = (joined.*axis).begin;
      if ((pieces[kept - 1].*axis).end == (piece.*axis).begin &&
          joined == wanted) {
        pieces[kept - 1] = joined;
        continue;
      }
    }
    pieces[kept++] = piece;
  }
  pieces.truncate(kept);
}

void etc::joinPieces(llvm::SmallVectorImpl<Piece> &pieces) {
  // Not llvm::sort, which takes qsort for what is trivially copied.
  std::sort(pieces.begin(), pieces.end());
  for (Span Piece::*axis : {&Piece::inner, &Piece::cut, &Piece::outer})
    joinAlong(pieces, axis);
}
