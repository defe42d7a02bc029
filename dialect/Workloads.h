//===- Workloads.h - What workload ids stand for --------------------------===//
//
// An id resolves to pieces of tensors from the IR alone, and pieces fold back
// into the coarsest ids that are exact.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_DIALECT_WORKLOADS_H
#define ETC_DIALECT_WORKLOADS_H

#include "dialect/Etc.h"
#include "dialect/Piece.h"

#include "llvm/ADT/SmallBitVector.h"

#include <array>
#include <limits>

namespace etc {

/// The `etc.tensor` templates of a migration, numbered in their order.
class TensorTable {
public:
  explicit TensorTable(MigrationOp migration);

  llvm::ArrayRef<TensorOp> getTensors() const { return tensors; }
  unsigned size() const { return tensors.size(); }
  TensorOp operator[](unsigned tensor) const { return tensors[tensor]; }
  /// The tensor that a tied copy equals, in the same types.
  std::optional<unsigned> getPrimary(unsigned tensor) const {
    return infos[tensor].primary;
  }
  /// The tensors that equal this one, in the same types: the one that it is
  /// tied to, and other copies; ascending.
  llvm::ArrayRef<unsigned> getTwins(unsigned tensor) const {
    return infos[tensor].twins;
  }

  /// All of a tensor on one side.
  Piece getWhole(unsigned tensor, int64_t layer, int64_t expert,
                 Side side) const {
    const Info &info = infos[tensor];
    auto [outer, cut, inner] =
        side == Side::Prev ? info.prevExtents : info.currExtents;
    return {tensor, layer, expert, {0, outer}, {0, cut}, {0, inner}};
  }
  /// LCM(TP, TP') or, of experts, LCM(ETP, ETP').
  int64_t getSliceCount(bool ofExperts) const { return sliceCounts[ofExperts]; }
  /// Positions of one slice; 0 where the tensor is not cut alike on both sides.
  int64_t getSlicePositions(unsigned tensor) const {
    return infos[tensor].slicePositions;
  }
  /// The tensor's name in ids.
  mlir::StringAttr getShortName(unsigned tensor) const {
    return infos[tensor].shortName;
  }
  Part getPart(unsigned tensor) const { return infos[tensor].part; }
  bool isSplit(unsigned tensor) const { return infos[tensor].isSplit; }
  bool isOfExpert(unsigned tensor) const { return infos[tensor].isOfExpert; }
  bool isFlat(unsigned tensor) const { return infos[tensor].isFlat; }
  bool isPadded(unsigned tensor) const { return infos[tensor].isPadded; }
  bool isInLayer(unsigned tensor, int64_t layer) const {
    return infos[tensor].firstLayer <= layer && layer < infos[tensor].endLayer;
  }
  int64_t getExperts() const { return experts; }
  int64_t getLayers() const { return layers; }

  /// The types that the tensor has, of the migration's.
  const llvm::SmallBitVector &getTypes(unsigned tensor) const {
    return infos[tensor].types;
  }
  /// Those that move, and those that are derived from one of its own.
  const llvm::SmallBitVector &getMovedTypes(unsigned tensor) const {
    return infos[tensor].movedTypes;
  }
  llvm::SmallBitVector getDerivedTypes(unsigned tensor) const;
  /// The type that a tensor's type is derived from; none where it moves.
  std::optional<unsigned> getDerivationSource(unsigned tensor,
                                              unsigned type) const;
  /// Bytes of an element in one type.
  int64_t getTypeBytes(unsigned type) const { return typeBytes[type]; }
  unsigned getTypeCount() const { return typeBytes.size(); }
  /// Those that move after the pause.
  const llvm::SmallBitVector &getDeferredTypes() const { return deferred; }
  bool isDeferred(unsigned type) const { return deferred.test(type); }
  /// Bytes of a piece in all its types, and in those that move.
  int64_t getBytes(const Piece &piece) const {
    return piece.size() * infos[piece.tensor].bytes;
  }
  int64_t getMovedBytes(const Piece &piece) const {
    return piece.size() * infos[piece.tensor].movedBytes;
  }
  /// Bytes of a piece in those that move, but for those that are deferred.
  int64_t getUrgentBytes(const Piece &piece) const {
    return piece.size() * infos[piece.tensor].urgentBytes;
  }
  /// Bytes of the gradients that a device has of a piece of the current state
  /// while deferred types move; 0 where none is deferred.
  int64_t getGradientBytes(const Piece &piece) const {
    return infos[piece.tensor].hasGradient ? piece.size() * gradientBytes : 0;
  }

  /// The numbers of the types that are named; all of them without names.
  llvm::SmallBitVector getTypes(mlir::ArrayAttr names) const;
  /// The names of types.
  mlir::ArrayAttr getTypeNames(const llvm::SmallBitVector &types) const;

  /// The pieces that ids stand for beside `types`, in forward order: of tensors
  /// that have all of these.
  llvm::SmallVector<Piece> expand(WorkloadAttr id,
                                  const llvm::SmallBitVector &types) const;
  llvm::SmallVector<Piece> expand(mlir::ArrayAttr ids,
                                  const llvm::SmallBitVector &types) const;
  llvm::SmallVector<Piece> expand(WorkloadsOpInterface op) const {
    return expand(op.getWid(), getTypes(op.getWt()));
  }

  /// Global name of the tensor that a piece belongs to.
  std::string getName(const Piece &piece) const;

private:
  /// What an op says, kept at hand: ids are resolved often.
  struct Info {
    mlir::StringAttr shortName;
    Part part;
    bool isSplit, isOfExpert, isPadded, isFlat;
    int64_t slicePositions = 0;
    int64_t firstLayer = 0, endLayer = std::numeric_limits<int64_t>::max();
    std::array<int64_t, 3> prevExtents, currExtents; ///< of a Piece's axes
    llvm::SmallBitVector types, movedTypes;
    int64_t bytes = 0, movedBytes = 0, urgentBytes = 0;
    bool hasGradient = false; ///< has parameters or buffers
    std::optional<unsigned> primary;
    llvm::SmallVector<unsigned, 0> twins;
  };
  void addTensor(TensorOp tensor);
  void addTwins();
  void appendAll(WorkloadAttr id, const llvm::SmallBitVector &types,
                 llvm::SmallVectorImpl<Piece> &pieces) const;
  void appendPieces(WorkloadAttr id, unsigned tensor,
                    llvm::SmallVectorImpl<Piece> &pieces) const;

  mutable MigrationOp migration; ///< ops are handles, their getters not const
  int64_t sliceCounts[2];
  int64_t layers, experts, gradientBytes;
  llvm::SmallVector<int64_t> typeBytes;
  llvm::DenseMap<mlir::StringAttr, unsigned> typeOf; ///< by name
  llvm::SmallVector<std::optional<unsigned>> sourceTypes;
  llvm::SmallBitVector deferred;
  llvm::SmallVector<TensorOp> tensors;
  llvm::SmallVector<Info> infos;
  /// By block and short name; without a name, all of the block.
  llvm::DenseMap<std::pair<Part, mlir::StringAttr>, llvm::SmallVector<unsigned>>
      byName;
};

/// The coarsest ids for `pieces`, which stand beside `types`; they may come in
/// any order but do not overlap.
mlir::ArrayAttr foldWorkloads(const TensorTable &table,
                              llvm::SmallVector<Piece> pieces,
                              const llvm::SmallBitVector &types);

/// The canonical form of ids that stand beside `types`: the coarsest that mean
/// the same. Ids that overlap stay as they are: they name state twice.
mlir::ArrayAttr canonicalWorkloads(const TensorTable &table,
                                   mlir::ArrayAttr ids,
                                   const llvm::SmallBitVector &types);

/// Whether ids name something that the migration has.
class WorkloadVerifier {
public:
  explicit WorkloadVerifier(MigrationOp migration);

  /// Errors are of `op`.
  mlir::LogicalResult verify(mlir::Operation *op, mlir::ArrayAttr ids) const;

private:
  mlir::LogicalResult verify(mlir::Operation *op, WorkloadAttr id) const;
  mlir::LogicalResult verifyTensor(mlir::Operation *op, WorkloadAttr id) const;

  int64_t layers, experts;
  int64_t sliceCounts[2]; ///< of what is not of experts, and of experts
  /// Those of a block and short name: several where types differ in shape.
  llvm::DenseMap<std::pair<Part, mlir::StringAttr>,
                 llvm::SmallVector<TensorOp, 1>>
      tensors;
};

} // namespace etc

#endif // ETC_DIALECT_WORKLOADS_H
