//===- PartTable.h - The parts that pieces are cut into ---------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_PARTTABLE_H
#define ETC_LIB_TRANSFORMS_PARTTABLE_H

#include "dialect/Piece.h"

#include "llvm/ADT/DenseMap.h"

#include <unordered_map>
#include <vector>

namespace etc {

/// Numbers the parts that the chunks of items are of pieces; equal parts have
/// one number. A piece has a row: itself, then its parts by every cut of its
/// item. Items are added one by one, so that all that is looked up is small.
class PartTable {
public:
  /// Of what is added next, which equals nothing that was added before.
  void startItem() {
    cuts.clear();
    rowOf.clear();
    numberOf.clear();
    width = 1;
  }
  /// The column of a chunk of `chunks`, for all pieces that are added next.
  unsigned addColumn(int64_t chunk, int64_t chunks);
  /// The row of a piece, which outlives the item; without its parts unless
  /// `isCut`, which a piece always is or never.
  uint32_t addRow(const Piece &piece, bool isCut);

  uint32_t getPart(uint32_t row, unsigned column) const {
    return rows[row + column];
  }
  const Piece &getPiece(uint32_t part) const { return pieces[part]; }

private:
  struct Cut {
    int64_t chunks;
    unsigned column; ///< of the first chunk
  };
  uint32_t number(const Piece &part);

  llvm::SmallVector<Cut, 4> cuts; ///< of the item, into several chunks
  unsigned width = 1;             ///< of its rows
  llvm::DenseMap<const Piece *, uint32_t> rowOf;
  std::unordered_map<Piece, uint32_t, PieceHash> numberOf;
  std::vector<uint32_t> rows;
  std::vector<Piece> pieces; ///< [part]
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_PARTTABLE_H
