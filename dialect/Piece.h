//===- Piece.h - Parts of tensors -------------------------------*- C++ -*-===//
//
// Knows no IR: what plans with pieces need not know where they were read.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_DIALECT_PIECE_H
#define ETC_DIALECT_PIECE_H

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>

namespace etc {

/// Half-open positions along an axis.
struct Span {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  bool covers(Span other) const {
    return begin <= other.begin && other.end <= end;
  }
  auto operator<=>(const Span &) const = default;
};

/// The positions that two spans share; its size is not positive where there are
/// none.
inline Span intersect(Span a, Span b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// A part of one tensor of one layer and expert. Every planning shape is seen
/// as three axes: the one that is cut (axis 0 where none is), what lies before
/// it, and what lies behind it.
struct Piece {
  unsigned tensor = 0; ///< index into the table
  int64_t layer = 0;   ///< 0 outside of layers
  int64_t expert = 0;  ///< 0 outside of experts
  Span outer, cut, inner;

  /// Elements.
  int64_t size() const { return outer.size() * cut.size() * inner.size(); }
  /// Whether both are parts of the same tensor.
  bool isOfSame(const Piece &other) const {
    return tensor == other.tensor && layer == other.layer &&
           expert == other.expert;
  }
  bool covers(const Piece &other) const {
    return outer.covers(other.outer) && cut.covers(other.cut) &&
           inner.covers(other.inner);
  }
  auto operator<=>(const Piece &) const = default;
};

struct PieceHash {
  size_t operator()(const Piece &piece) const;
};

/// What two parts of tensors of one shape share, named as the first; nothing
/// where they are apart.
std::optional<Piece> intersect(const Piece &a, const Piece &b);
/// What is left of `a` without `b`, in up to six parts.
llvm::SmallVector<Piece> subtract(const Piece &a, const Piece &b);
/// Joins what lies side by side along one axis; sorts.
void joinPieces(llvm::SmallVectorImpl<Piece> &pieces);

} // namespace etc

#endif // ETC_DIALECT_PIECE_H
