//===- Pieces.cpp - Arithmetic on parts of tensors ------------------------===//

#include "dialect/Piece.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

using namespace etc;

size_t PieceHash::operator()(const Piece &piece) const {
  const int64_t fields[] = {
      piece.tensor,      piece.layer,       piece.expert,
      piece.outer.begin, piece.outer.end,   piece.cut.begin,
      piece.cut.end,     piece.inner.begin, piece.inner.end};
  return llvm::xxh3_64bits(llvm::ArrayRef(
      reinterpret_cast<const uint8_t *>(fields), sizeof(fields)));
}

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

/// Both pieces as one, where the second continues the first along `axis` and is
/// alike along the others.
static std::optional<Piece> join(const Piece &first, const Piece &second,
                                 Span Piece::*axis) {
  if ((first.*axis).end != (second.*axis).begin)
    return std::nullopt;
  Piece joined = second;
  (joined.*axis).begin = (first.*axis).begin;
  Piece wanted = first;
  (wanted.*axis).end = (second.*axis).end;
  return joined == wanted ? std::optional(joined) : std::nullopt;
}

static void joinAlong(llvm::SmallVectorImpl<Piece> &pieces, Span Piece::*axis) {
  size_t kept = 0;
  for (size_t next = 1; next < pieces.size(); ++next) {
    if (auto joined = join(pieces[kept], pieces[next], axis))
      pieces[kept] = *joined;
    else if (++kept != next)
      pieces[kept] = pieces[next];
  }
  pieces.truncate(std::min(kept + 1, pieces.size()));
}

void etc::joinPieces(llvm::SmallVectorImpl<Piece> &pieces) {
  // Not llvm::sort, which takes qsort for what is trivially copied.
  std::sort(pieces.begin(), pieces.end());
  for (Span Piece::*axis : {&Piece::inner, &Piece::cut, &Piece::outer})
    joinAlong(pieces, axis);
}
