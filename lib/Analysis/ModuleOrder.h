//===- ModuleOrder.h - Parameters in the order of modules -------*- C++ -*-===//

#ifndef ETC_LIB_ANALYSIS_MODULEORDER_H
#define ETC_LIB_ANALYSIS_MODULEORDER_H

#include "dialect/Workloads.h"

namespace etc {

/// A parameter as a rank holds it. Its types may be tensors of their own, which
/// follow each other and share its place.
struct FlatShard {
  Piece piece;
  unsigned tensors = 1;
};

/// The flat tensors of one pool (a role without replica) on a side, chunk by
/// chunk, in the order in which a framework registers them.
class ModuleOrder {
public:
  ModuleOrder(MigrationOp migration, const TensorTable &table, Side side,
              RoleAttr pool)
      : migration(migration), table(table), side(side),
        parallel(migration.getParallel(side)), role(pool) {}

  /// The parameters of a model chunk; valid until the next call.
  llvm::ArrayRef<FlatShard> list(int64_t chunk);

private:
  /// Tensors [begin, end) of the table.
  struct Run {
    unsigned begin, end;
  };
  Run runFrom(unsigned tensor, llvm::function_ref<bool(unsigned)> isAlike,
              unsigned end) const;
  void addModules(Run run, int64_t layer);
  void addExperts(Run run, int64_t layer);
  void addShard(unsigned tensor, int64_t layer, int64_t expert);

  MigrationOp migration;
  const TensorTable &table;
  Side side;
  ParallelAttr parallel;
  RoleAttr role; ///< without replica
  llvm::SmallVector<FlatShard, 0> shards;
};

} // namespace etc

#endif // ETC_LIB_ANALYSIS_MODULEORDER_H
