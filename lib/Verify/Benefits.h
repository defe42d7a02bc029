//===- Benefits.h - What roles find on what they may be put on --*- C++ -*-===//
//
// The bytes that the columns of a certificate (previous roles, or classes of
// nodes) have of every current role, worked out from lib/Layout.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_VERIFY_BENEFITS_H
#define ETC_LIB_VERIFY_BENEFITS_H

#include "etc/BoxSearch.h"
#include "etc/Verify/LayoutOracle.h"

#include <map>

namespace etc {

/// For every column, the previous roles that its devices can reach, ascending.
using ReachedRoles = std::vector<llvm::SmallVector<int64_t>>;

/// Bytes, of the types that move. Most of a pair's depend on the pools alone:
/// that of the current role, and those of the previous roles that are reached.
struct ColumnBenefits {
  std::vector<unsigned> rowGroup;                   ///< [current role] its pool
  std::vector<unsigned> colGroup;                   ///< [column]
  std::vector<llvm::SmallVector<int64_t>> ofGroups; ///< [pool][column group]
  /// [current role] by column: what flat ranges and inventories add.
  std::vector<std::map<unsigned, int64_t>> ofPairs;
};

/// Works benefits out, for any columns.
class BenefitCounter {
public:
  BenefitCounter(MigrationOp migration, const TensorTable &table,
                 const LayoutOracle &oracle);
  ColumnBenefits count(const ReachedRoles &columns) const;

private:
  using Pieces = llvm::SmallVector<Piece, 0>;
  using ByColumn = std::map<unsigned, int64_t>;
  /// A piece of a previous tensor, and the pools or roles that have it.
  struct Held {
    Piece piece;
    llvm::SmallVector<int64_t, 4> holders;
  };
  struct OfTensor {
    std::vector<Held> held; ///< in order of their pieces
    BoxSearch search;
  };
  /// By tensor, layer and expert.
  using HeldPieces = std::map<std::tuple<unsigned, int64_t, int64_t>, OfTensor>;
  static HeldPieces index(llvm::ArrayRef<Pieces> lists);
  void readSide(Side side, std::vector<Pieces> &pools,
                std::vector<Pieces> &ranges) const;
  std::vector<llvm::SmallVector<int64_t>>
  groupColumns(const ReachedRoles &columns, ColumnBenefits &benefits) const;
  using ColumnsOf = llvm::ArrayRef<llvm::SmallVector<unsigned>>;
  void addRanges(const ReachedRoles &columns, ColumnsOf groupsOfPool,
                 ColumnBenefits &benefits) const;
  ByColumn count(llvm::ArrayRef<Piece> pieces, const HeldPieces &held,
                 ColumnsOf columnsOf) const;
  int64_t bytesOfElement(const Piece &piece) const {
    return table.getMovedBytes(piece) / piece.size();
  }

  mutable MigrationOp migration; ///< ops are handles, their getters not const
  const TensorTable &table;
  const LayoutOracle &oracle;
  /// What every pool shares and every role has of its own, sorted.
  std::vector<Pieces> currPools, currRanges;
  HeldPieces prevPools, prevRanges;
};

} // namespace etc

#endif // ETC_LIB_VERIFY_BENEFITS_H
