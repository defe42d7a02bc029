//===- FoldedIds.h - Workload ids that are folded once ----------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_FOLDEDIDS_H
#define ETC_LIB_TRANSFORMS_FOLDEDIDS_H

#include "core/plan/BytesTable.h"
#include "dialect/Workloads.h"

#include <vector>

namespace etc {

/// Both ends of a message list the same pieces, and several types do, so most
/// lists of instructions come often.
class FoldedIds {
public:
  using Pieces = llvm::SmallVector<const Piece *, 4>;
  struct Names {
    mlir::ArrayAttr ids, types;
  };
  explicit FoldedIds(const TensorTable &table) : table(table) {}

  /// The names of pieces, which outlive this, beside some types. Equal pieces
  /// are one.
  Names fold(llvm::ArrayRef<const Piece *> pieces,
             const llvm::SmallBitVector &types);

private:
  struct TypeSet {
    mlir::ArrayAttr names;
    bool ofAllTensors; ///< ids say the same beside all that are
  };
  const TypeSet &getTypeSet(const llvm::SmallBitVector &types);

  const TensorTable &table;
  llvm::DenseMap<llvm::SmallBitVector, TypeSet> typeSets;
  /// By types (null: any that all tensors have) and pieces. Each list is next
  /// to its ids.
  plan::BytesTable known;
  std::vector<const void *> words; ///< ids, types, pieces, and again
  llvm::SmallVector<const void *, 16> key;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_FOLDEDIDS_H
