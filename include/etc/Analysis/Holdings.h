//===- Holdings.h - The workloads of both sides, resolved -----------------===//

#ifndef ETC_ANALYSIS_HOLDINGS_H
#define ETC_ANALYSIS_HOLDINGS_H

#include "dialect/Workloads.h"
#include "etc/BoxSearch.h"
#include "etc/Optimize/Sources/Fragment.h"

#include "mlir/Pass/AnalysisManager.h"
#include "llvm/ADT/Sequence.h"

#include <map>

namespace etc {

/// The pieces that the roles of one side hold, from its `etc.workload` ops:
/// those that a pool shares, and the ranges of single roles. Roles and pools
/// have the numbers that ParallelAttr gives them; pieces are sorted.
class Holdings {
public:
  Holdings(MigrationOp migration, const TensorTable &table, Side side);

  int64_t size() const { return own.size(); }
  int64_t getPools() const { return shared.size(); }
  int64_t getPool(int64_t role) const { return parallel.getPoolOf(role); }
  /// The roles of a pool.
  llvm::iota_range<int64_t> getRoles(int64_t pool) const {
    int64_t count = size() / getPools();
    return llvm::seq(pool * count, (pool + 1) * count);
  }
  int64_t getIndex(RoleAttr role) const { return parallel.getRoleIndex(role); }
  RoleAttr getRole(int64_t index) const { return parallel.getRole(index); }
  RoleAttr getPoolRole(int64_t pool) const { return parallel.getPool(pool); }
  /// Whether roles of a pool hold ranges of their own.
  bool hasRanges() const { return parallel.hasRanges(); }
  /// Whether an inventory lists the pieces.
  bool isListed() const { return parallel.getInventory(); }
  /// Whether these ranges are of any tensors, not only of flat ones.
  bool ownsAll() const { return parallel.ownsAll(); }

  llvm::ArrayRef<Piece> getShared(int64_t pool) const { return shared[pool]; }
  llvm::ArrayRef<Piece> getOwn(int64_t role) const { return own[role]; }
  /// Whether any role holds the tensor.
  bool has(unsigned tensor) const { return held.test(tensor); }
  /// What one role holds of the tensor that `piece` is a part of, named
  /// `tensor` on this side.
  llvm::ArrayRef<Piece> find(int64_t role, unsigned tensor,
                             const Piece &piece) const;

private:
  ParallelAttr parallel;
  std::vector<llvm::SmallVector<Piece, 0>> shared, own;
  llvm::SmallBitVector held;
};

/// The holdings of both sides.
struct BothHoldings {
  BothHoldings(MigrationOp migration, const TensorTable &table)
      : prev(migration, table, Side::Prev), curr(migration, table, Side::Curr) {
  }
  BothHoldings(MigrationOp migration, mlir::AnalysisManager &analyses);

  Holdings prev, curr;
};

/// The tensors of the previous side that have the content of a current one:
/// itself, then its twins, of these the ones that exist. A device reads the
/// first one that it holds.
llvm::SmallVector<unsigned, 2>
getSources(const TensorTable &table, const Holdings &prev, unsigned tensor);

/// The tensor that a device of a previous role reads for a piece of a current
/// one: the first source of which it holds all that the piece names, or, where
/// it holds none so, the tensor itself.
unsigned findRead(const TensorTable &table, const Holdings &prev, int64_t role,
                  const Piece &piece);

/// The part of a current piece that is not padding that the previous side
/// lacks; nothing where that side has none of the content.
std::optional<Piece> getOldPart(const TensorTable &table, const Holdings &prev,
                                const Piece &piece);

/// Everything that one side holds, by tensor.
class HolderIndex {
public:
  struct Entry {
    Piece piece;
    llvm::SmallVector<Holder, 0> holders; ///< of just this piece, ascending
  };
  explicit HolderIndex(const Holdings &holdings);

  /// Of the tensor that `piece` is a part of, named `tensor`, all pieces that
  /// it meets, and maybe others.
  llvm::ArrayRef<Entry> find(unsigned tensor, const Piece &piece) const;

  /// Tells of holders how many elements of a piece each has, of any of the
  /// tensors: of a single one in several calls, one for each box.
  void
  forHolders(const Piece &piece, llvm::ArrayRef<unsigned> tensors,
             llvm::function_ref<void(Holder, int64_t elements)> function) const;

private:
  using TensorKey = std::tuple<unsigned, int64_t, int64_t>;
  struct OfTensor {
    llvm::SmallVector<Entry, 0> entries;
    BoxSearch search;
  };
  std::map<TensorKey, OfTensor> tensors;
};

} // namespace etc

#endif // ETC_ANALYSIS_HOLDINGS_H
