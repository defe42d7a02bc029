//===- Benefits.cpp - What roles find on what they may be put on ----------===//

#include "Benefits.h"

#include <set>

using namespace etc;
using namespace mlir;

BenefitCounter::BenefitCounter(MigrationOp migration, const TensorTable &table,
                               const LayoutOracle &oracle)
    : migration(migration), table(table), oracle(oracle) {
  std::vector<Pieces> ranges;
  readSide(Side::Prev, prevPools, ranges);
  readSide(Side::Curr, currPools, currRanges);
  for (auto [role, pieces] : llvm::enumerate(ranges))
    for (const Piece &piece : pieces)
      prevRanges[{piece.tensor, piece.layer, piece.expert}].push_back(
          {piece, static_cast<int64_t>(role)});
}

/// The replicas of a pool differ in the tensors that are cut into ranges.
void BenefitCounter::readSide(Side side, std::vector<Pieces> &pools,
                              std::vector<Pieces> &ranges) const {
  ParallelAttr parallel = migration.getParallel(side);
  pools.resize(parallel.getPools());
  ranges.resize(parallel.getRoles());
  const bool ownsAll = parallel.ownsAll(), cutsFlat = parallel.getZero1();
  for (int64_t role = 0; role < parallel.getRoles(); ++role) {
    Pieces &pool = pools[parallel.getPoolOf(role)];
    const bool isFirst = pool.empty();
    for (const Piece &piece : oracle.holdings(side, role)) {
      if (ownsAll || (cutsFlat && table.isFlat(piece.tensor)))
        ranges[role].push_back(piece);
      else if (isFirst)
        pool.push_back(piece);
    }
  }
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

/// Bytes of current pieces that at least one of several previous pools shares.
int64_t BenefitCounter::countPools(ArrayRef<Piece> pieces,
                                   ArrayRef<int64_t> pools) const {
  // All lists are sorted, so each is gone through once.
  SmallVector<ArrayRef<Piece>> ahead;
  for (int64_t pool : pools)
    ahead.push_back(prevPools[pool]);
  Piece last;
  int64_t benefit = 0;
  for (Piece piece : pieces) {
    const int64_t bytes = bytesOfElement(piece);
    piece.tensor = oracle.sourceOf(piece.tensor);
    Piece key{piece.tensor, piece.layer, piece.expert, {}, {}, {}};
    SmallVector<Piece> rest = {piece};
    for (auto [pool, list] : llvm::zip_equal(pools, ahead)) {
      if (key < last)
        list = prevPools[pool]; // a tied copy goes back to its twin
      list = list.drop_while([&](const Piece &held) { return held < key; });
      for (const Piece &held : list) {
        if (!held.isOfSame(key) || rest.empty())
          break;
        rest =
            contains(held, piece) ? SmallVector<Piece>() : subtract(rest, held);
      }
    }
    last = key;
    benefit += (piece.size() - sizeOf(rest)) * bytes;
  }
  return benefit;
}

/// Bytes of current pieces that previous ranges have, by column.
BenefitCounter::ByColumn BenefitCounter::countRanges(
    ArrayRef<Piece> pieces,
    ArrayRef<SmallVector<unsigned>> columnsOfRole) const {
  ByColumn benefits;
  for (Piece piece : pieces) {
    const int64_t bytes = bytesOfElement(piece);
    piece.tensor = oracle.sourceOf(piece.tensor);
    auto ranges = prevRanges.find({piece.tensor, piece.layer, piece.expert});
    if (ranges == prevRanges.end())
      continue;
    std::map<unsigned, SmallVector<Piece>> left;
    for (const Range &range : ranges->second)
      if (intersects(piece, range.piece))
        for (unsigned column : columnsOfRole[range.role]) {
          auto [it, isNew] = left.try_emplace(column);
          if (isNew)
            it->second = {piece};
          it->second = subtract(it->second, range.piece);
        }
    for (const auto &[column, rest] : left)
      benefits[column] += (piece.size() - sizeOf(rest)) * bytes;
  }
  return benefits;
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

void BenefitCounter::addRanges(const ReachedRoles &columns,
                               ArrayRef<SmallVector<int64_t>> groups,
                               ColumnBenefits &benefits) const {
  ParallelAttr curr = migration.getCurr(), prev = migration.getPrev();
  SmallVector<SmallVector<unsigned>> columnsOfRole(prev.getRoles());
  for (auto [column, roles] : llvm::enumerate(columns))
    for (int64_t role : roles)
      columnsOfRole[role].push_back(column);
  benefits.ofPairs.resize(curr.getRoles());
  const bool arePoolsHeld = !prev.hasRanges() || curr.ownsAll();
  if (!curr.hasRanges() || prev.ownsAll()) {
    std::vector<ByColumn> ofPools;
    for (const Pieces &pieces : currPools)
      ofPools.push_back(countRanges(pieces, columnsOfRole));
    for (int64_t role = 0; role < curr.getRoles(); ++role)
      benefits.ofPairs[role] = ofPools[curr.getPoolOf(role)];
  }
  for (int64_t role = 0; curr.hasRanges() && role < curr.getRoles(); ++role) {
    ByColumn &ofRole = benefits.ofPairs[role];
    for (auto [column, bytes] : countRanges(currRanges[role], columnsOfRole))
      ofRole[column] += bytes;
    if (!arePoolsHeld)
      continue;
    for (auto [column, group] : llvm::enumerate(benefits.colGroup))
      if (int64_t bytes = countPools(currRanges[role], groups[group]))
        ofRole[column] += bytes;
  }
}

ColumnBenefits BenefitCounter::count(const ReachedRoles &columns) const {
  ParallelAttr curr = migration.getCurr();
  ColumnBenefits benefits;
  for (int64_t role = 0; role < curr.getRoles(); ++role)
    benefits.rowGroup.push_back(curr.getPoolOf(role));
  const std::vector<SmallVector<int64_t>> groups =
      groupColumns(columns, benefits);
  for (const Pieces &pieces : currPools) {
    SmallVector<int64_t> &row = benefits.ofGroups.emplace_back();
    for (ArrayRef<int64_t> pools : groups)
      row.push_back(countPools(pieces, pools));
  }
  addRanges(columns, groups, benefits);
  return benefits;
}
