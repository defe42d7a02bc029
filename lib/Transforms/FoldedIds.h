//===- FoldedIds.h - Workload ids that are folded once ----------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_FOLDEDIDS_H
#define ETC_LIB_TRANSFORMS_FOLDEDIDS_H

#include "PartTable.h"
#include "core/plan/BytesTable.h"
#include "dialect/Workloads.h"

#include <vector>

namespace etc {

/// Both ends of a message list the same parts, and several types do, so most
/// lists of instructions come often.
class FoldedIds {
public:
  struct Names {
    mlir::ArrayAttr ids, types;
  };
  FoldedIds(const TensorTable &table, const PartTable &parts)
      : table(table), parts(parts) {}

  /// The names of parts beside some types.
  Names fold(llvm::ArrayRef<uint32_t> numbers,
             const llvm::SmallBitVector &types);

private:
  struct TypeSet {
    llvm::SmallBitVector types;
    mlir::ArrayAttr names;
    /// Of its ids: 0 of all sets that all tensors have, beside which ids say
    /// the same.
    uint32_t number;
  };
  const TypeSet &getTypeSet(const llvm::SmallBitVector &types);

  const TensorTable &table;
  const PartTable &parts;
  llvm::SmallVector<TypeSet, 4> typeSets; ///< there are a few
  /// By the number of the types and the parts. Each list is behind the number
  /// of its ids.
  plan::BytesTable known;
  std::vector<uint32_t> words; ///< ids, types, parts, and again
  std::vector<mlir::ArrayAttr> ids;
  llvm::SmallVector<uint32_t, 16> key;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_FOLDEDIDS_H
