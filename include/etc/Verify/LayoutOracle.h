//===- LayoutOracle.h - What both sides hold, by lib/Layout ---------------===//

#ifndef ETC_VERIFY_LAYOUTORACLE_H
#define ETC_VERIFY_LAYOUTORACLE_H

#include "dialect/Workloads.h"
#include "etc/Layout/PoolHoldings.h"

#include "llvm/ADT/DenseSet.h"

namespace etc {

/// What the sides of a migration hold according to lib/Layout: an account of
/// its own, beside `etc.workload`. Verifiers compare plans with it.
class LayoutOracle {
public:
  using Pieces = llvm::SmallVector<Piece, 0>;

  LayoutOracle(MigrationOp migration, const TensorTable &table);
  /// What pools hold refers to the models here.
  LayoutOracle(const LayoutOracle &) = delete;
  LayoutOracle &operator=(const LayoutOracle &) = delete;

  /// What role number `role` of a side holds, sorted: what its pool shares, and
  /// what is its own.
  Pieces holdings(Side side, int64_t role) const;
  /// What all roles of a pool hold alike, sorted. Worked out once.
  llvm::ArrayRef<Piece> getShared(Side side, int64_t pool) const;
  /// What depends on the replica, of which there may be thousands: sorted, and
  /// not kept.
  Pieces getOwn(Side side, int64_t role) const;
  /// Whether the previous side has the tensor at all.
  bool isOnPrev(unsigned tensor) const;
  /// The previous tensors that a current one can be made from: itself and its
  /// twins, of these the ones that exist.
  llvm::ArrayRef<unsigned> sourcesOf(unsigned tensor) const {
    return sources[tensor];
  }
  /// All of what the previous side has of a current piece's tensor, or of a
  /// twin; nothing where it has none.
  std::optional<Piece> wholeOnPrev(const Piece &piece) const;
  /// The number of a rank's role, by Megatron's rank order.
  static int64_t roleOfRank(ParallelAttr parallel, int64_t rank);

private:
  struct PoolPieces {
    layout::PoolHoldings layout;
    Pieces shared;
  };
  struct SideModel {
    model::Model model;
    request::Parallelism parallel;
    ParallelAttr attr;
    /// By pool, once it has been asked for; nothing of an inventory.
    mutable std::vector<std::optional<PoolPieces>> pools;
    std::vector<Pieces> listed; ///< by role, of an inventory
  };
  void readInventory(MigrationOp migration, Side side);
  void readTensors(SideModel &model, Side side) const;
  const SideModel &getSide(Side side) const {
    return sides[static_cast<int>(side)];
  }
  const PoolPieces &getPool(const SideModel &side, int64_t pool) const;
  Piece toPiece(const layout::HeldBox &held) const;
  Pieces toPieces(llvm::ArrayRef<layout::HeldBox> boxes) const;

  const TensorTable &table;
  SideModel sides[2];
  llvm::SmallVector<int64_t> cutAxes;                  ///< by tensor
  std::vector<llvm::SmallVector<unsigned, 1>> sources; ///< by tensor
  llvm::DenseSet<unsigned> held; ///< the tensors of a previous inventory
};

} // namespace etc

#endif // ETC_VERIFY_LAYOUTORACLE_H
