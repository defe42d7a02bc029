//===- Fragment.h - What a device can get from one source -------*- C++ -*-===//

#ifndef ETC_OPTIMIZE_SOURCES_FRAGMENT_H
#define ETC_OPTIMIZE_SOURCES_FRAGMENT_H

#include "dialect/Piece.h"

#include "llvm/ADT/SmallBitVector.h"

namespace etc {

/// Who held some pieces: a pool, or a role with ranges of its own.
struct Holder {
  bool isPool;
  int64_t number;
  auto operator<=>(const Holder &) const = default;
};

/// Pieces that a device lacks and that the same previous holders have: what it
/// can get from one source.
struct Fragment {
  llvm::SmallVector<Piece, 0> pieces;
  /// The types that move, of all the pieces.
  llvm::SmallBitVector types;
  /// Ascending, each has all of the pieces, or of twins of them.
  llvm::SmallVector<Holder, 0> holders;
  int64_t bytes; ///< in the types that move
  int64_t unit;  ///< bytes of an element, in these types
};

} // namespace etc

#endif // ETC_OPTIMIZE_SOURCES_FRAGMENT_H
