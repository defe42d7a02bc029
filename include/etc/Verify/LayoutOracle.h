//===- LayoutOracle.h - What both sides hold, by lib/Layout ---------------===//

#ifndef ETC_VERIFY_LAYOUTORACLE_H
#define ETC_VERIFY_LAYOUTORACLE_H

#include "dialect/Workloads.h"
#include "etc/Layout/Layout.h"

#include "llvm/ADT/DenseSet.h"

namespace etc {

/// What the sides of a migration hold according to lib/Layout: an account of
/// its own, beside `etc.workload`. Verifiers compare plans with it.
class LayoutOracle {
public:
  LayoutOracle(MigrationOp migration, const TensorTable &table);

  /// What role number `role` of a side holds, sorted. Worked out once.
  llvm::ArrayRef<Piece> holdings(Side side, int64_t role) const;
  /// Whether the previous side has the tensor at all.
  bool isOnPrev(unsigned tensor) const;
  /// The previous tensor that a current one is made from, itself or its twin.
  unsigned sourceOf(unsigned tensor) const;
  /// The number of a rank's role, by Megatron's rank order.
  static int64_t roleOfRank(ParallelAttr parallel, int64_t rank);

private:
  struct SideModel {
    model::Model model;
    request::Parallelism parallel;
    ParallelAttr attr;
  };
  void readInventory(MigrationOp migration, Side side);

  const TensorTable &table;
  SideModel sides[2];
  mutable std::vector<llvm::SmallVector<Piece, 0>> known[2]; ///< [side][role]
  llvm::DenseSet<unsigned> held; ///< the tensors of a previous inventory
};

} // namespace etc

#endif // ETC_VERIFY_LAYOUTORACLE_H
