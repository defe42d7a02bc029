//===- PlanTables.h - The tables that all programs of a plan share --------===//

#ifndef ETC_LIB_EXPORT_PLANTABLES_H
#define ETC_LIB_EXPORT_PLANTABLES_H

#include "dialect/Workloads.h"
#include "plan/plan_generated.h"

#include "llvm/ADT/DenseMap.h"

namespace etc {

/// Numbers tensors, boxes and shards, each once.
class PlanTables {
public:
  PlanTables(MigrationOp migration, const TensorTable &table,
             plan::fb::PlanT &plan);

  /// The number of a (tensor, layer) of one type.
  uint32_t getTensor(unsigned tensor, int64_t layer, unsigned type) const {
    return first.at({tensor, layer}) + type;
  }
  /// The type of a tensor by its number: the types of one tensor are numbered
  /// in a row.
  unsigned getType(uint32_t tensor) const { return tensor % typeCount; }
  /// The offset of a piece's box in the plan's bounds.
  uint32_t getBox(const Piece &piece);
  /// The number of the shard that is a piece of one type.
  uint32_t getShard(const Piece &piece, unsigned type);

private:
  void addTensor(unsigned tensor, int64_t layer);

  MigrationOp migration;
  const TensorTable &table;
  uint32_t typeCount;
  plan::fb::PlanT &plan;
  llvm::DenseMap<std::pair<unsigned, int64_t>, uint32_t> first;
  /// By tensor of the table and positions: all layers share their boxes.
  llvm::DenseMap<std::tuple<unsigned, int64_t, int64_t>, uint32_t> boxes;
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> shards;
};

} // namespace etc

#endif // ETC_LIB_EXPORT_PLANTABLES_H
