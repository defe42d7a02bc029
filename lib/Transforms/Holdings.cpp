//===- Holdings.cpp - The workloads of both sides, resolved ---------------===//

#include "Holdings.h"

using namespace etc;

Holdings::Holdings(MigrationOp migration, const TensorTable &table, Side side)
    : parallel(migration.getParallel(side)), pieces(parallel.getRoles()),
      held(table.size()) {
  for (WorkloadOp workload : migration.getOps<WorkloadOp>()) {
    if (workload.getSide() != side)
      continue;
    auto types = table.getTypes(workload.getWt().value_or(mlir::ArrayAttr()));
    llvm::append_range(pieces[getIndex(workload.getRole())],
                       table.expand(workload.getWid(), types));
  }
  for (auto &role : pieces) {
    llvm::sort(role);
    for (const Piece &piece : role)
      held.set(piece.tensor);
  }
}

llvm::ArrayRef<Piece> Holdings::find(int64_t role, unsigned tensor,
                                     const Piece &piece) const {
  llvm::ArrayRef<Piece> all = pieces[role];
  Piece key{tensor, piece.layer, piece.expert, {}, {}, {}};
  const Piece *begin = llvm::lower_bound(all, key), *end = begin;
  while (end != all.end() && end->isOfSame(key))
    ++end;
  return {begin, end};
}

std::optional<unsigned> etc::getSource(const TensorTable &table,
                                       const Holdings &prev, unsigned tensor) {
  if (prev.has(tensor))
    return tensor;
  std::optional<unsigned> twin = table.getTwin(tensor);
  return twin && prev.has(*twin) ? twin : std::nullopt;
}
