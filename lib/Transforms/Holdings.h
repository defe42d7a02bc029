//===- Holdings.h - The workloads of both sides, resolved -----------------===//

#ifndef ETC_LIB_TRANSFORMS_HOLDINGS_H
#define ETC_LIB_TRANSFORMS_HOLDINGS_H

#include "dialect/Workloads.h"

namespace etc {

/// The pieces that every role of one side holds, from its `etc.workload` ops.
/// Roles have the numbers that ParallelAttr gives them; the pieces of each are
/// sorted.
class Holdings {
public:
  Holdings(MigrationOp migration, const TensorTable &table, Side side);

  int64_t size() const { return pieces.size(); }
  llvm::ArrayRef<Piece> operator[](int64_t role) const { return pieces[role]; }
  int64_t getIndex(RoleAttr role) const { return parallel.getRoleIndex(role); }
  RoleAttr getRole(int64_t index) const { return parallel.getRole(index); }
  /// Whether any role holds the tensor.
  bool has(unsigned tensor) const { return held.test(tensor); }
  /// What one role holds of the tensor that `piece` is a part of, named
  /// `tensor` on this side.
  llvm::ArrayRef<Piece> find(int64_t role, unsigned tensor,
                             const Piece &piece) const;

private:
  ParallelAttr parallel;
  std::vector<llvm::SmallVector<Piece, 0>> pieces;
  llvm::SmallBitVector held;
};

/// The tensor of the previous side that a current one is filled from: its own
/// name, else the twin it is tied to; none where neither exists.
std::optional<unsigned> getSource(const TensorTable &table,
                                  const Holdings &prev, unsigned tensor);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_HOLDINGS_H
