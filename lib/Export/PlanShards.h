//===- PlanShards.h - What programs hold, as numbers of shards ------------===//

#ifndef ETC_LIB_EXPORT_PLANSHARDS_H
#define ETC_LIB_EXPORT_PLANSHARDS_H

#include "PlanTables.h"
#include "etc/Verify/LayoutOracle.h"

#include "llvm/ADT/BitVector.h"

namespace etc {

/// What roles hold by their workloads.
class PlanShards {
public:
  PlanShards(MigrationOp migration, const TensorTable &table,
             PlanTables &tables, const plan::fb::PlanT &plan);

  /// Adds what ids name, in some types.
  void list(mlir::ArrayAttr wid, mlir::ArrayAttr wt,
            std::vector<uint32_t> &list);
  /// What a role's pool shares, and its range, by tensor; nothing without a
  /// role.
  std::vector<uint32_t> find(Side side, std::optional<RoleAttr> role) const;

private:
  bool isBefore(uint32_t shard, uint32_t other) const {
    return plan.shards[shard].tensor() < plan.shards[other].tensor();
  }

  mutable MigrationOp migration; ///< ops are handles, their getters not const
  const TensorTable &table;
  PlanTables &tables;
  const plan::fb::PlanT &plan;
  /// Of every role, or every pool, by tensor.
  llvm::DenseMap<std::pair<Side, mlir::Attribute>, std::vector<uint32_t>>
      shardsOf;
};

/// Compares what programs hold with lib/Layout.
class PlanShardsChecker {
public:
  PlanShardsChecker(MigrationOp migration, const TensorTable &table,
                    PlanTables &tables, const plan::fb::PlanT &plan)
      : migration(migration), table(table), tables(tables), plan(plan),
        oracle(migration, table) {}

  /// Whether some shards are what a role holds, each once.
  bool areHeld(Side side, std::optional<RoleAttr> role,
               llvm::ArrayRef<uint32_t> shards);

private:
  std::vector<uint32_t> list(llvm::ArrayRef<Piece> pieces);
  llvm::ArrayRef<uint32_t> findShared(Side side, int64_t role);

  mutable MigrationOp migration; ///< ops are handles, their getters not const
  const TensorTable &table;
  PlanTables &tables;
  const plan::fb::PlanT &plan;
  const LayoutOracle oracle;
  /// What all roles of a pool hold.
  std::map<std::pair<Side, int64_t>, std::vector<uint32_t>> ofPools;
  llvm::BitVector isExpected; ///< by shard, of the role that is checked
};

} // namespace etc

#endif // ETC_LIB_EXPORT_PLANSHARDS_H
