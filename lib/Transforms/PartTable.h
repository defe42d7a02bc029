//===- PartTable.h - The parts that pieces are cut into ---------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_PARTTABLE_H
#define ETC_LIB_TRANSFORMS_PARTTABLE_H

#include "dialect/Piece.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <unordered_map>
#include <vector>

namespace etc {

/// Some chunks of several that follow each other.
struct ChunkRange {
  int64_t first, last; ///< both are in it
  int64_t chunks;

  bool isWhole() const { return first == 0 && last == chunks - 1; }
  auto operator<=>(const ChunkRange &) const = default;
};

/// Numbers the parts that ranges of the chunks of items are of pieces; equal
/// parts have one number. A piece has a row: itself, then its part by every
/// range of its item. Items are added one by one, so that all that is looked up
/// is small.
class PartTable {
public:
  /// Of what is added next, which equals nothing that was added before.
  void startItem() {
    ranges.clear();
    columnOf.clear();
    rowOf.clear();
    numberOf.clear();
  }
  /// The column of a range, for all pieces that are added next.
  unsigned addColumn(const ChunkRange &range);
  /// The row of a piece, which outlives the item; without its parts unless
  /// `isCut`, which a piece always is or never.
  uint32_t addRow(const Piece &piece, bool isCut);

  uint32_t getPart(uint32_t row, unsigned column) const {
    return rows[row + column];
  }
  const Piece &getPiece(uint32_t part) const { return pieces[part]; }

private:
  uint32_t number(const Piece &part);

  std::vector<ChunkRange> ranges; ///< of the item; those of columns from 1 on
  std::map<ChunkRange, unsigned> columnOf;
  llvm::DenseMap<const Piece *, uint32_t> rowOf;
  std::unordered_map<Piece, uint32_t, PieceHash> numberOf;
  std::vector<uint32_t> rows;
  std::vector<Piece> pieces; ///< [part]
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_PARTTABLE_H
