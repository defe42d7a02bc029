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

llvm::SmallVector<unsigned, 2> etc::getSources(const TensorTable &table,
                                               const Holdings &prev,
                                               unsigned tensor) {
  llvm::SmallVector<unsigned, 2> sources;
  if (prev.has(tensor))
    sources.push_back(tensor);
  for (unsigned twin : table.getTwins(tensor))
    if (prev.has(twin))
      sources.push_back(twin);
  return sources;
}

unsigned etc::findRead(const TensorTable &table, const Holdings &prev,
                       int64_t role, const Piece &piece) {
  if (role < 0 || table.getTwins(piece.tensor).empty())
    return piece.tensor;
  for (unsigned source : getSources(table, prev, piece.tensor))
    if (subtract(ArrayRef(piece), prev.find(role, source, piece)).empty())
      return source;
  return piece.tensor;
}

std::optional<Piece> etc::getOldPart(const TensorTable &table,
                                     const Holdings &prev, const Piece &piece) {
  const llvm::SmallVector<unsigned, 2> sources =
      getSources(table, prev, piece.tensor);
  if (sources.empty())
    return std::nullopt;
  return intersect(piece, table.getWhole(sources.front(), piece.layer,
                                         piece.expert, Side::Prev));
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
                        OfTensor{std::move(entries), BoxSearch(pieces)});
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

/// What a holder has of one tensor is disjoint; of twins, it need not be.
void HolderIndex::forHolders(
    const Piece &piece, ArrayRef<unsigned> tensors,
    llvm::function_ref<void(Holder, int64_t)> function) const {
  std::map<Holder, llvm::SmallVector<Piece>> lacking; // where there are twins
  for (unsigned tensor : tensors)
    for (const Entry &entry : find(tensor, piece)) {
      std::optional<Piece> shared = intersect(piece, entry.piece);
      if (!shared)
        continue;
      for (Holder holder : entry.holders) {
        if (tensors.size() == 1) {
          function(holder, shared->size());
          continue;
        }
        auto &rest = lacking.try_emplace(holder, 1, piece).first->second;
        rest = subtract(rest, ArrayRef(entry.piece));
      }
    }
  for (const auto &[holder, rest] : lacking) {
    int64_t elements = piece.size();
    for (const Piece &left : rest)
      elements -= left.size();
    function(holder, elements);
  }
}
