//===- Workloads.h - What workload ids stand for --------------------------===//
//
// An id resolves to pieces of tensors from the IR alone, and pieces fold back
// into the coarsest ids that are exact.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_DIALECT_WORKLOADS_H
#define ETC_DIALECT_WORKLOADS_H

#include "dialect/Etc.h"

namespace etc {

/// Positions [begin, end) of one tensor along the axis that tensor parallelism
/// cuts (axis 0 where it cuts none); all other axes are whole. `tensor` is an
/// index into the table, `layer` is 0 outside of layers.
struct Piece {
  unsigned tensor;
  int64_t layer;
  int64_t begin, end;

  int64_t size() const { return end - begin; }
  auto operator<=>(const Piece &) const = default;
};

/// The `etc.tensor` templates of a migration, numbered in their order.
class TensorTable {
public:
  explicit TensorTable(MigrationOp migration);

  llvm::ArrayRef<TensorOp> getTensors() const { return tensors; }
  TensorOp operator[](unsigned tensor) const { return tensors[tensor]; }
  std::optional<unsigned> lookup(llvm::StringRef name) const;
  /// The tensor that a tied copy equals.
  std::optional<unsigned> getTwin(unsigned tensor) const;

  /// Length of the cut axis on one side.
  int64_t getExtent(unsigned tensor, Side side) const;
  /// LCM(TP, TP').
  int64_t getSliceCount() const { return sliceCount; }
  /// Positions of one slice; 0 where the tensor is not cut alike on both sides.
  int64_t getSlicePositions(unsigned tensor) const {
    return slicePositions[tensor];
  }
  /// Elements that one position of the cut axis stands for.
  /// The tensor's name in ids.
  mlir::StringAttr getShortName(unsigned tensor) const {
    return shortNames[tensor];
  }
  Part getPart(unsigned tensor) const { return parts[tensor]; }
  bool isSplit(unsigned tensor) const { return split[tensor]; }
  int64_t getElementsPerPosition(unsigned tensor) const {
    return elements[tensor];
  }
  /// Elements of a piece.
  int64_t getElements(const Piece &piece) const {
    return piece.size() * elements[piece.tensor];
  }
  /// Bytes of one element in all of the migration's types.
  int64_t getBytesPerElement() const { return bytesPerElement; }
  /// The same in the types that move.
  int64_t getMovedBytesPerElement() const { return movedBytesPerElement; }

  /// The pieces an id stands for, in forward order.
  llvm::SmallVector<Piece> expand(WorkloadAttr id) const;
  llvm::SmallVector<Piece> expand(mlir::ArrayAttr ids) const;

  /// Global name of the tensor that a piece belongs to.
  std::string getName(const Piece &piece) const;

private:
  void appendPiece(WorkloadAttr id, unsigned tensor,
                   llvm::SmallVectorImpl<Piece> &pieces) const;

  int64_t sliceCount;
  int64_t bytesPerElement = 0;
  int64_t movedBytesPerElement;
  llvm::SmallVector<TensorOp> tensors;
  // What the ops say, kept at hand: ids are resolved often.
  llvm::SmallVector<mlir::StringAttr> shortNames;
  llvm::SmallVector<Part> parts;
  llvm::SmallVector<bool> split;
  llvm::SmallVector<int64_t> elements;
  llvm::SmallVector<int64_t> slicePositions;
};

/// The coarsest ids for `pieces`, which may come in any order but do not
/// overlap.
mlir::ArrayAttr foldWorkloads(const TensorTable &table,
                              llvm::SmallVector<Piece> pieces);

/// Whether an id names something that the migration has.
mlir::LogicalResult
verifyWorkload(MigrationOp migration, WorkloadAttr id,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace etc

#endif // ETC_DIALECT_WORKLOADS_H
