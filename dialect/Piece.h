//===- Piece.h - Parts of tensors -------------------------------*- C++ -*-===//
//
// Knows no IR: what plans with pieces need not know where they were read.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_DIALECT_PIECE_H
#define ETC_DIALECT_PIECE_H

#include "etc/Geometry.h"

#include "llvm/ADT/SmallVector.h"

namespace etc {

/// A box of one tensor of one layer and expert. Every planning shape is seen as
/// three axes: the one that is cut (axis 0 where none is), what lies before it,
/// and what lies behind it.
struct Piece {
  using Owner = Piece; ///< parts of a piece are pieces of the same tensor
  enum Axis : unsigned { Outer, Cut, Inner };

  unsigned tensor = 0; ///< index into the table
  int64_t layer = 0;   ///< 0 outside of layers
  int64_t expert = 0;  ///< 0 outside of experts
  Span outer, cut, inner;

  static constexpr unsigned rank() { return 3; }
  Span &operator[](unsigned axis) {
    return axis == Outer ? outer : axis == Cut ? cut : inner;
  }
  const Span &operator[](unsigned axis) const {
    return axis == Outer ? outer : axis == Cut ? cut : inner;
  }

  /// Elements.
  int64_t size() const { return outer.size() * cut.size() * inner.size(); }
  /// Whether both are parts of the same tensor.
  bool isOfSame(const Piece &other) const {
    return tensor == other.tensor && layer == other.layer &&
           expert == other.expert;
  }
  auto operator<=>(const Piece &) const = default;
};

struct PieceHash {
  size_t operator()(const Piece &piece) const;
};

/// What is left of `whole` without `part`, a piece of a tensor of the same
/// shape: up to six pieces.
inline llvm::SmallVector<Piece> subtract(const Piece &whole,
                                         const Piece &part) {
  llvm::SmallVector<Piece> rest;
  forEachOutside(whole, part,
                 [&](const Piece &piece) { rest.push_back(piece); });
  return rest;
}
/// What is left of disjoint pieces without any of `parts`, all of tensors of
/// one shape.
llvm::SmallVector<Piece> subtract(llvm::ArrayRef<Piece> pieces,
                                  llvm::ArrayRef<Piece> parts);
/// Joins what lies side by side along one axis; sorts.
void joinPieces(llvm::SmallVectorImpl<Piece> &pieces);

} // namespace etc

#endif // ETC_DIALECT_PIECE_H
