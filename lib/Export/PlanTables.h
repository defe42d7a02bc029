//===- PlanTables.h - The tables that all programs of a plan share --------===//

#ifndef ETC_LIB_EXPORT_PLANTABLES_H
#define ETC_LIB_EXPORT_PLANTABLES_H

#include "core/plan/BoxTable.h"
#include "core/plan/plan_generated.h"
#include "dialect/Workloads.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace etc {

/// Numbers tensors, boxes and shards, each once.
class PlanTables {
public:
  PlanTables(MigrationOp migration, const TensorTable &table,
             plan::fb::PlanT &plan);

  /// The number of the tensor that a piece belongs to, in one type.
  uint32_t getTensor(const Piece &piece, unsigned type) const {
    return numbers.at(keyOf(piece)) + ranks[piece.tensor][type];
  }
  /// The type of a tensor, by its number.
  unsigned getType(uint32_t tensor) const { return types[tensor]; }
  /// The offset of a piece's box in the plan's bounds.
  uint32_t getBox(const Piece &piece);
  /// Adds the numbers of the shards that are some pieces of one tensor, a type
  /// each.
  void listShards(llvm::ArrayRef<Piece> pieces,
                  const llvm::SmallBitVector &types,
                  std::vector<uint32_t> &list);

private:
  using Key = std::tuple<unsigned, int64_t, int64_t>;
  static Key keyOf(const Piece &piece) {
    return {piece.tensor, piece.layer, piece.expert};
  }
  void numberTensors();
  void addTensor(const Piece &piece);
  int32_t getPattern(llvm::StringRef name);
  /// Tensors of the table by their whole names.
  using Names = llvm::StringMap<llvm::SmallVector<unsigned, 1>>;
  void linkSources(const Piece &piece, const Names &byName);
  void linkPrimary(Piece piece);

  MigrationOp migration;
  const TensorTable &table;
  plan::fb::PlanT &plan;
  /// The number of the first type; the types of one tensor follow each other.
  llvm::DenseMap<Key, uint32_t> numbers;
  std::vector<llvm::SmallVector<uint32_t>> ranks; ///< [tensor][type]
  std::vector<unsigned> types;                    ///< [number]
  llvm::StringMap<int32_t> patterns;              ///< by name
  /// How a shape's axes are the three of its pieces.
  struct Axes {
    llvm::SmallVector<int64_t, 3> shape;
    unsigned cut;
    Span outer, inner; ///< whole
  };
  std::vector<Axes> axes; ///< [tensor of the table]
  plan::BoxTable boxes;   ///< each once, whatever tensors have it
  /// Numbers of shapes of several boxes, from here on; one box is its number.
  static constexpr uint64_t severalBoxes = uint64_t{1} << 32;
  std::map<llvm::SmallVector<uint32_t, 1>, uint64_t> shapes;
  /// By tensor number and shape.
  llvm::DenseMap<std::pair<uint32_t, uint64_t>, uint32_t> shards;
};

} // namespace etc

#endif // ETC_LIB_EXPORT_PLANTABLES_H
