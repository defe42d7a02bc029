//===- FoldedIds.h - Workload ids that are folded once ----------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_FOLDEDIDS_H
#define ETC_LIB_TRANSFORMS_FOLDEDIDS_H

#include "core/plan/BytesTable.h"
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
  /// Ids of the same pieces, mostly of the other end, or of other types. There
  /// are as many lists as instructions: each is next to its ids.
  class Known {
  public:
    /// Null where `key` is new.
    mlir::ArrayAttr find(const Beside &key);
    void add(mlir::ArrayAttr ids);

  private:
    llvm::StringRef bytes() const;
    plan::BytesTable table;
    std::vector<const void *> words; ///< ids, types, pieces, and again
    llvm::SmallVector<const void *, 16> last;
  };
  /// Equal ones, wherever they are.
  struct Equal {
    size_t operator()(const Beside &key) const;
    bool operator()(const Beside &a, const Beside &b) const;
  };
  const TypeSet &getTypeSet(const llvm::SmallBitVector &types);

  const TensorTable &table;
  llvm::DenseMap<llvm::SmallBitVector, TypeSet> typeSets;
  Known known;
  std::unordered_map<Beside, mlir::ArrayAttr, Equal, Equal> folded;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_FOLDEDIDS_H
