//===- Holdings.h - The workloads of both sides, resolved -----------------===//

#ifndef ETC_LIB_TRANSFORMS_HOLDINGS_H
#define ETC_LIB_TRANSFORMS_HOLDINGS_H

#include "dialect/Workloads.h"

namespace etc {

/// The pieces that every role of one side holds, from its `etc.workload` ops.
/// Role (p, t) has index p * TP + t; its pieces are sorted.
class Holdings {
public:
  Holdings(MigrationOp migration, const TensorTable &table, Side side)
      : tp(migration.getParallel(side).getTp()),
        pieces(migration.getParallel(side).getRoles()) {
    for (WorkloadOp workload : migration.getOps<WorkloadOp>())
      if (workload.getSide() == side)
        pieces[getIndex(workload.getRole())] = table.expand(workload.getWid());
    for (llvm::SmallVector<Piece> &role : pieces) {
      llvm::sort(role);
      for (const Piece &piece : role)
        held.insert({piece.tensor, true});
    }
  }

  int64_t size() const { return pieces.size(); }
  llvm::ArrayRef<Piece> operator[](int64_t role) const { return pieces[role]; }
  int64_t getIndex(RoleAttr role) const {
    return role.getStage() * tp + role.getSlice();
  }
  RoleAttr getRole(mlir::MLIRContext *context, int64_t index) const {
    return RoleAttr::get(context, index / tp, index % tp);
  }
  /// Whether any role holds the tensor.
  bool has(unsigned tensor) const { return held.count(tensor); }
  /// What one role holds of a tensor, or nothing.
  const Piece *find(int64_t role, unsigned tensor, int64_t layer) const {
    auto it = llvm::lower_bound(pieces[role], Piece{tensor, layer, 0, 0});
    return it != pieces[role].end() && it->tensor == tensor &&
                   it->layer == layer
               ? &*it
               : nullptr;
  }

private:
  int64_t tp;
  llvm::SmallVector<llvm::SmallVector<Piece>> pieces;
  llvm::SmallDenseMap<unsigned, bool> held;
};

/// The tensor of the previous side that a current one is filled from: its own
/// name, else the twin it is tied to; none where neither exists.
inline std::optional<unsigned>
getSource(const TensorTable &table, const Holdings &prev, unsigned tensor) {
  if (prev.has(tensor))
    return tensor;
  std::optional<unsigned> twin = table.getTwin(tensor);
  return twin && prev.has(*twin) ? twin : std::nullopt;
}

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_HOLDINGS_H
