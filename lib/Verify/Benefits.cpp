//===- Benefits.cpp - What roles find on what they may be put on ----------===//

#include "Benefits.h"

#include "llvm/ADT/DenseMap.h"

#include <set>

using namespace etc;
using namespace mlir;

BenefitCounter::BenefitCounter(MigrationOp migration, const TensorTable &table,
                               const LayoutOracle &oracle)
    : migration(migration), table(table), oracle(oracle) {
  std::vector<Pieces> pools, ranges;
  readSide(Side::Prev, pools, ranges);
  readSide(Side::Curr, currPools, currRanges);
  prevPools = index(pools);
  prevRanges = index(ranges);
}

/// Equal pieces, as replicas of other dimensions have them, are one.
BenefitCounter::HeldPieces BenefitCounter::index(ArrayRef<Pieces> lists) {
  std::vector<std::pair<Piece, int64_t>> all;
  for (auto [holder, pieces] : llvm::enumerate(lists))
    for (const Piece &piece : pieces)
      all.emplace_back(piece, holder);
  std::sort(all.begin(), all.end());
  HeldPieces tensors;
  for (auto first = all.begin(), last = first; first != all.end();
       first = last) {
    std::vector<Held> held;
    Pieces pieces;
    for (; last != all.end() && last->first.isOfSame(first->first); ++last) {
      const auto &[piece, holder] = *last;
      if (pieces.empty() || pieces.back() != piece) {
        pieces.push_back(piece);
        held.push_back({piece, {}});
      }
      held.back().holders.push_back(holder);
    }
    const Piece &piece = first->first;
    tensors.try_emplace({piece.tensor, piece.layer, piece.expert},
                        OfTensor{std::move(held), BoxSearch(pieces)});
  }
  return tensors;
}

/// The replicas of a pool differ in the tensors that are cut into ranges.
void BenefitCounter::readSide(Side side, std::vector<Pieces> &pools,
                              std::vector<Pieces> &ranges) const {
  ParallelAttr parallel = migration.getParallel(side);
  pools.resize(parallel.getPools());
  ranges.resize(parallel.getRoles());
  for (int64_t pool = 0; pool < parallel.getPools(); ++pool)
    llvm::append_range(pools[pool], oracle.getShared(side, pool));
  for (int64_t role = 0; role < parallel.getRoles(); ++role)
    llvm::append_range(ranges[role], oracle.getOwn(side, role));
}

//===----------------------------------------------------------------------===//
// What columns have of pieces
//===----------------------------------------------------------------------===//

static int64_t sizeOf(ArrayRef<Piece> pieces) {
  int64_t size = 0;
  for (const Piece &piece : pieces)
    size += piece.size();
  return size;
}

namespace {
/// What columns have of one piece.
class Tally {
public:
  explicit Tally(const Piece &piece) : piece(piece) {}

  void add(const Piece &held, unsigned column) {
    if (contains(held, piece))
      whole.push_back(column);
    else
      parts[column].push_back(held);
  }
  template <typename Function> void forColumns(Function function) {
    std::sort(whole.begin(), whole.end());
    whole.erase(llvm::unique(whole), whole.end());
    for (unsigned column : whole)
      function(column, piece.size());
    for (const auto &[column, list] : parts)
      if (!llvm::binary_search(whole, column))
        function(column, piece.size() - sizeOf(subtract({piece}, list)));
  }

private:
  Piece piece;
  SmallVector<unsigned> whole; ///< columns that have all of it
  llvm::DenseMap<unsigned, SmallVector<Piece, 2>> parts;
};
} // namespace

/// Bytes of current pieces that columns have at least once, of them or of
/// twins. `columnsOf` are those of every holder.
BenefitCounter::ByColumn BenefitCounter::count(ArrayRef<Piece> pieces,
                                               const HeldPieces &held,
                                               ColumnsOf columnsOf) const {
  llvm::DenseMap<unsigned, int64_t> benefits;
  for (const Piece &piece : pieces) {
    const int64_t bytes = bytesOfElement(piece);
    Tally tally(piece);
    for (unsigned source : oracle.sourcesOf(piece.tensor)) {
      auto ofTensor = held.find({source, piece.layer, piece.expert});
      if (ofTensor == held.end())
        continue;
      const auto &[list, search] = ofTensor->second;
      const auto [first, last] = search.find(piece);
      for (const Held &other : ArrayRef(list).slice(first, last - first))
        if (intersects(piece, other.piece))
          for (int64_t holder : other.holders)
            for (unsigned column : columnsOf[holder])
              tally.add(other.piece, column);
    }
    tally.forColumns([&](unsigned column, int64_t elements) {
      benefits[column] += elements * bytes;
    });
  }
  return ByColumn(benefits.begin(), benefits.end());
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Columns whose roles are of the same pools are a group; returns its pools.
std::vector<SmallVector<int64_t>>
BenefitCounter::groupColumns(const ReachedRoles &columns,
                             ColumnBenefits &benefits) const {
  std::map<std::set<int64_t>, unsigned> numbers;
  std::vector<SmallVector<int64_t>> groups;
  for (ArrayRef<int64_t> roles : columns) {
    std::set<int64_t> pools;
    for (int64_t role : roles)
      pools.insert(migration.getPrev().getPoolOf(role));
    auto [it, isNew] = numbers.try_emplace(pools, groups.size());
    if (isNew)
      groups.emplace_back(pools.begin(), pools.end());
    benefits.colGroup.push_back(it->second);
  }
  return groups;
}

/// For every number in `lists`, up to `count`, the lists that have it.
static SmallVector<SmallVector<unsigned>>
invert(ArrayRef<SmallVector<int64_t>> lists, int64_t count) {
  SmallVector<SmallVector<unsigned>> listsOf(count);
  for (auto [list, numbers] : llvm::enumerate(lists))
    for (int64_t number : numbers)
      listsOf[number].push_back(list);
  return listsOf;
}

void BenefitCounter::addRanges(const ReachedRoles &columns,
                               ColumnsOf groupsOfPool,
                               ColumnBenefits &benefits) const {
  ParallelAttr curr = migration.getCurr(), prev = migration.getPrev();
  const SmallVector<SmallVector<unsigned>> columnsOfRole =
      invert(columns, prev.getRoles());
  benefits.ofPairs.resize(curr.getRoles());
  const bool arePoolsHeld = !prev.hasRanges() || curr.ownsAll();
  if (!curr.hasRanges() || prev.ownsAll()) {
    std::vector<ByColumn> ofPools;
    for (const Pieces &pieces : currPools)
      ofPools.push_back(count(pieces, prevRanges, columnsOfRole));
    for (int64_t role = 0; role < curr.getRoles(); ++role)
      benefits.ofPairs[role] = ofPools[curr.getPoolOf(role)];
  }
  for (int64_t role = 0; curr.hasRanges() && role < curr.getRoles(); ++role) {
    ByColumn &ofRole = benefits.ofPairs[role];
    for (auto [column, bytes] :
         count(currRanges[role], prevRanges, columnsOfRole))
      ofRole[column] += bytes;
    if (!arePoolsHeld)
      continue;
    const ByColumn ofGroups = count(currRanges[role], prevPools, groupsOfPool);
    for (auto [column, group] : llvm::enumerate(benefits.colGroup))
      if (auto it = ofGroups.find(group); it != ofGroups.end())
        ofRole[column] += it->second;
  }
}

ColumnBenefits BenefitCounter::count(const ReachedRoles &columns) const {
  ParallelAttr curr = migration.getCurr();
  ColumnBenefits benefits;
  for (int64_t role = 0; role < curr.getRoles(); ++role)
    benefits.rowGroup.push_back(curr.getPoolOf(role));
  const std::vector<SmallVector<int64_t>> groups =
      groupColumns(columns, benefits);
  const SmallVector<SmallVector<unsigned>> groupsOfPool =
      invert(groups, migration.getPrev().getPools());
  for (const Pieces &pieces : currPools) {
    SmallVector<int64_t> &row = benefits.ofGroups.emplace_back(groups.size());
    for (auto [group, bytes] : count(pieces, prevPools, groupsOfPool))
      row[group] = bytes;
  }
  addRanges(columns, groupsOfPool, benefits);
  return benefits;
}
