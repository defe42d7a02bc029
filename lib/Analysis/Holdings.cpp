//===- Holdings.cpp - The workloads of both sides, resolved ---------------===//

#include "etc/Analysis/Holdings.h"

using namespace etc;
using llvm::ArrayRef;

Holdings::Holdings(MigrationOp migration, const TensorTable &table, Side side)
    : parallel(migration.getParallel(side)), shared(parallel.getPools()),
      own(parallel.getRoles()), held(table.size()) {
  for (WorkloadOp workload : migration.getOps<WorkloadOp>()) {
    if (workload.getSide() != side)
      continue;
    auto types = table.getTypes(workload.getWt().value_or(mlir::ArrayAttr()));
    RoleAttr role = workload.getRole();
    llvm::append_range(role.hasReplica() ? own[getIndex(role)]
                                         : shared[parallel.getPoolIndex(role)],
                       table.expand(workload.getWid(), types));
  }
  for (auto *lists : {&shared, &own})
    for (auto &list : *lists) {
      // Not llvm::sort, which takes qsort for what is trivially copied.
      std::sort(list.begin(), list.end());
      for (const Piece &piece : list)
        held.set(piece.tensor);
    }
}

ArrayRef<Piece> Holdings::find(int64_t role, unsigned tensor,
                               const Piece &piece) const {
  Piece key{tensor, piece.layer, piece.expert, {}, {}, {}};
  // A tensor is held in ranges or by pools, never both.
  for (ArrayRef<Piece> all : {getOwn(role), getShared(getPool(role))}) {
    const Piece *begin = llvm::lower_bound(all, key), *end = begin;
    while (end != all.end() && end->isOfSame(key))
      ++end;
    if (begin != end)
      return {begin, end};
  }
  return {};
}

BothHoldings::BothHoldings(MigrationOp migration,
                           mlir::AnalysisManager &analyses)
    : BothHoldings(migration,
                   analyses.getAnalysis<TensorTable, MigrationOp>()) {}

std::optional<unsigned> etc::getSource(const TensorTable &table,
                                       const Holdings &prev, unsigned tensor) {
  if (prev.has(tensor))
    return tensor;
  std::optional<unsigned> twin = table.getPrimary(tensor);
  return twin && prev.has(*twin) ? twin : std::nullopt;
}

HolderIndex::HolderIndex(const Holdings &holdings) {
  std::vector<std::pair<Piece, Holder>> held;
  for (int64_t pool = 0; pool < holdings.getPools(); ++pool)
    for (const Piece &piece : holdings.getShared(pool))
      held.push_back({piece, {true, pool}});
  for (int64_t role = 0; role < holdings.size(); ++role)
    for (const Piece &piece : holdings.getOwn(role))
      held.push_back({piece, {false, role}});
  std::sort(held.begin(), held.end(), [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  });
  ArrayRef<std::pair<Piece, Holder>> rest = held;
  while (!rest.empty()) {
    const Piece &first = rest.front().first;
    llvm::SmallVector<Entry, 0> entries;
    llvm::SmallVector<Piece, 0> pieces;
    for (; !rest.empty() && rest.front().first.isOfSame(first);
         rest = rest.drop_front()) {
      const auto &[piece, holder] = rest.front();
      if (pieces.empty() || pieces.back() != piece) {
        pieces.push_back(piece);
        entries.push_back({piece, {}});
      }
      entries.back().holders.push_back(holder);
    }
    tensors.try_emplace({first.tensor, first.layer, first.expert},
                        OfTensor{std::move(entries), PieceSearch(pieces)});
  }
}

ArrayRef<HolderIndex::Entry> HolderIndex::find(unsigned tensor,
                                               const Piece &piece) const {
  auto it = tensors.find({tensor, piece.layer, piece.expert});
  if (it == tensors.end())
    return {};
  const auto &[entries, search] = it->second;
  const auto [first, last] = search.find(piece);
  return ArrayRef(entries).slice(first, last - first);
}
