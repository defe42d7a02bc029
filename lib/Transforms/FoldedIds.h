//===- FoldedIds.h - Workload ids that are folded once ----------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_FOLDEDIDS_H
#define ETC_LIB_TRANSFORMS_FOLDEDIDS_H

#include "dialect/Workloads.h"

#include <unordered_map>

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

  /// The names of pieces, which outlive this, beside some types.
  Names fold(const Pieces &pieces, const llvm::SmallBitVector &types);

private:
  struct TypeSet {
    mlir::ArrayAttr names;
    bool ofAllTensors; ///< ids say the same beside all that are
  };
  struct Beside {
    mlir::ArrayAttr types; ///< null: any that all tensors have
    Pieces pieces;
  };
  /// The same pieces, mostly of the other end, or of other types.
  struct Same {
    size_t operator()(const Beside &key) const;
    bool operator()(const Beside &a, const Beside &b) const;
  };
  /// Equal ones, wherever they are.
  struct Equal {
    size_t operator()(const Beside &key) const;
    bool operator()(const Beside &a, const Beside &b) const;
  };
  const TypeSet &getTypeSet(const llvm::SmallBitVector &types);

  const TensorTable &table;
  llvm::DenseMap<llvm::SmallBitVector, TypeSet> typeSets;
  std::unordered_map<Beside, mlir::ArrayAttr, Same, Same> known;
  std::unordered_map<Beside, mlir::ArrayAttr, Equal, Equal> folded;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_FOLDEDIDS_H
