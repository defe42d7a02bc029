//===- CheckCertificate.cpp - Whether a certificate proves its bound ------===//

#include "CheckCertificate.h"

#include "llvm/ADT/DenseSet.h"

using namespace etc;
using namespace mlir;

CertificateChecker::CertificateChecker(MigrationOp migration,
                                       const TensorTable &table,
                                       const LayoutOracle &oracle)
    : migration(migration), table(table), oracle(oracle) {
  for (auto [node, count] : llvm::enumerate(migration.getNodes()))
    nodeOf.append(count, node);
  std::vector<Pieces> ranges;
  readSide(Side::Prev, prevPools, ranges);
  readSide(Side::Curr, currPools, currRanges);
  for (auto [role, pieces] : llvm::enumerate(ranges))
    for (const Piece &piece : pieces)
      prevRanges[{piece.tensor, piece.layer, piece.expert}].push_back(
          {piece, static_cast<int64_t>(role)});
}

/// The replicas of a pool differ in the tensors that are cut into ranges.
void CertificateChecker::readSide(Side side, std::vector<Pieces> &pools,
                                  std::vector<Pieces> &ranges) const {
  ParallelAttr parallel = migration.getParallel(side);
  pools.resize(parallel.getPools());
  ranges.resize(parallel.getRoles());
  for (int64_t role = 0; role < parallel.getRoles(); ++role) {
    Pieces &pool = pools[parallel.getPoolOf(role)];
    bool isFirst = pool.empty();
    for (const Piece &piece : oracle.holdings(side, role)) {
      if (parallel.getInventory() ||
          (parallel.getZero1() && table.isFlat(piece.tensor)))
        ranges[role].push_back(piece);
      else if (isFirst)
        pool.push_back(piece);
    }
  }
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// The previous roles that the living devices of every node hold.
SmallVector<std::set<int64_t>> CertificateChecker::rolesOnNodes() const {
  SmallVector<std::set<int64_t>> roles(migration.getNodes().size());
  for (ProgramOp program : migration.getOps<ProgramOp>())
    if (std::optional<RoleAttr> prev = program.getPrev())
      for (int64_t device : program.getDevices())
        roles[nodeOf[device]].insert(migration.getPrev().getRoleIndex(*prev));
  return roles;
}

/// The columns of a certificate, as the previous roles that each one's devices
/// can reach: one role a column at the device level, all roles of a node at the
/// node level.
CertificateChecker::Columns CertificateChecker::columnsOf(Level level) const {
  Columns columns;
  if (level == Level::Device) {
    for (int64_t role = 0; role < migration.getPrev().getRoles(); ++role)
      columns.push_back({role});
    return columns;
  }
  std::set<SmallVector<int64_t>> seen;
  for (const std::set<int64_t> &roles : rolesOnNodes()) {
    SmallVector<int64_t> column(roles.begin(), roles.end());
    if (seen.insert(column).second)
      columns.push_back(column);
  }
  return columns;
}

LogicalResult CertificateChecker::checkMembers(CertificateOp certificate,
                                               const Columns &columns) {
  llvm::DenseSet<int64_t> unusable;
  for (auto list : {migration.getFailed(), migration.getLeaving()})
    unusable.insert_range(list.value_or(ArrayRef<int64_t>()));
  std::map<SmallVector<int64_t>, int64_t> members;
  if (certificate.getLevel() == Level::Node) {
    SmallVector<std::set<int64_t>> onNodes = rolesOnNodes();
    for (int64_t device = 0; device < migration.getDeviceCount(); ++device)
      if (const auto &roles = onNodes[nodeOf[device]];
          !unusable.contains(device))
        ++members[SmallVector<int64_t>(roles.begin(), roles.end())];
  } else {
    for (auto [rank, device] : llvm::enumerate(migration.getPrevPlacement()))
      if (!unusable.contains(device))
        ++members[{oracle.roleOfRank(migration.getPrev(), rank)}];
  }
  auto counts =
      llvm::map_to_vector(columns, [&](const SmallVector<int64_t> &column) {
        return members[column];
      });
  if (ArrayRef<int64_t>(counts) == certificate.getMembers())
    return success();
  return certificate.emitError(
      "does not count the devices that may take a role");
}

//===----------------------------------------------------------------------===//
// Worths
//===----------------------------------------------------------------------===//

/// What is left of pieces without another one.
static SmallVector<Piece> without(ArrayRef<Piece> pieces, const Piece &taken) {
  SmallVector<Piece> rest;
  for (const Piece &piece : pieces)
    llvm::append_range(rest, subtract(piece, taken));
  return rest;
}

static int64_t sizeOf(ArrayRef<Piece> pieces) {
  int64_t size = 0;
  for (const Piece &piece : pieces)
    size += piece.size();
  return size;
}

/// Bytes of current pieces that at least one of several previous pools shares.
int64_t CertificateChecker::worthOf(ArrayRef<Piece> pieces,
                                    ArrayRef<int64_t> pools) const {
  // All lists are sorted, so each is gone through once.
  SmallVector<ArrayRef<Piece>> ahead;
  for (int64_t pool : pools)
    ahead.push_back(prevPools[pool]);
  Piece last;
  int64_t worth = 0;
  for (Piece piece : pieces) {
    int64_t bytes = table.getMovedBytes(piece) / piece.size();
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
        rest = held.covers(piece) ? SmallVector<Piece>() : without(rest, held);
      }
    }
    last = key;
    worth += (piece.size() - sizeOf(rest)) * bytes;
  }
  return worth;
}

/// Bytes of current pieces that previous ranges have, by column.
std::map<int32_t, int64_t> CertificateChecker::rangesOf(
    ArrayRef<Piece> pieces,
    ArrayRef<SmallVector<int32_t>> columnsOfRole) const {
  std::map<int32_t, int64_t> worths;
  for (Piece piece : pieces) {
    int64_t bytes = table.getMovedBytes(piece) / piece.size();
    piece.tensor = oracle.sourceOf(piece.tensor);
    auto ranges = prevRanges.find({piece.tensor, piece.layer, piece.expert});
    if (ranges == prevRanges.end())
      continue;
    std::map<int32_t, SmallVector<Piece>> left;
    for (const Range &range : ranges->second)
      if (intersect(piece, range.piece))
        for (int32_t column : columnsOfRole[range.role]) {
          auto [it, isNew] = left.try_emplace(column);
          if (isNew)
            it->second = {piece};
          it->second = without(it->second, range.piece);
        }
    for (const auto &[column, rest] : left)
      worths[column] += (piece.size() - sizeOf(rest)) * bytes;
  }
  return worths;
}

/// Rows are current roles, in groups by pool; columns are in groups by the
/// pools of their roles.
GroupedProblem CertificateChecker::problemOf(const Columns &columns) const {
  ParallelAttr curr = migration.getCurr(), prev = migration.getPrev();
  GroupedProblem problem;
  problem.supply.assign(curr.getRoles(), curr.getRoleReplicas());
  for (int64_t role = 0; role < curr.getRoles(); ++role)
    problem.rowGroup.push_back(curr.getPoolOf(role));
  SmallVector<SmallVector<int32_t>> columnsOfRole(prev.getRoles());
  std::map<std::set<int64_t>, int32_t> numbers;
  std::vector<SmallVector<int64_t>> groups;
  for (auto [column, roles] : llvm::enumerate(columns)) {
    std::set<int64_t> pools;
    for (int64_t role : roles) {
      pools.insert(prev.getPoolOf(role));
      columnsOfRole[role].push_back(column);
    }
    auto [it, isNew] = numbers.try_emplace(pools, groups.size());
    if (isNew)
      groups.emplace_back(pools.begin(), pools.end());
    problem.colGroup.push_back(it->second);
  }
  std::vector<std::map<int32_t, int64_t>> extra(curr.getRoles());
  for (int32_t pool = 0; pool < curr.getPools(); ++pool) {
    for (auto [group, pools] : llvm::enumerate(groups))
      problem.groups[{pool, static_cast<int32_t>(group)}] = {
          0, worthOf(currPools[pool], pools)};
    if (curr.hasRanges() && !prev.getInventory())
      continue;
    std::map<int32_t, int64_t> worths =
        rangesOf(currPools[pool], columnsOfRole);
    for (int64_t role = 0; role < curr.getRoles(); ++role)
      if (curr.getPoolOf(role) == pool)
        extra[role] = worths;
  }
  for (int64_t role = 0; curr.hasRanges() && role < curr.getRoles(); ++role) {
    for (auto [column, worth] : rangesOf(currRanges[role], columnsOfRole))
      extra[role][column] += worth;
    for (auto [column, group] : llvm::enumerate(problem.colGroup))
      if (!prev.hasRanges())
        if (int64_t worth = worthOf(currRanges[role], groups[group]))
          extra[role][column] += worth;
  }
  for (auto [role, columnWorths] : llvm::enumerate(extra))
    for (auto [column, worth] : columnWorths)
      problem.pairs[{static_cast<int32_t>(role), column}] =
          problem.groups[{problem.rowGroup[role], problem.colGroup[column]}] +
          assignment::Weight{0, worth};
  return problem;
}

LogicalResult CertificateChecker::check(CertificateOp certificate) {
  Columns columns = columnsOf(certificate.getLevel());
  if (columns.size() != certificate.getV().size())
    return certificate.emitError() << "has " << certificate.getV().size()
                                   << " columns, expected " << columns.size();
  GroupedProblem problem = problemOf(columns);
  problem.capacity = certificate.getMembers().vec();
  auto weights = [](ArrayRef<int64_t> values) {
    std::vector<assignment::Weight> duals;
    for (int64_t value : values)
      duals.push_back({0, value});
    return duals;
  };
  if (std::optional<std::string> error = problem.verifyCertificate(
          {0, static_cast<int64_t>(certificate.getKept())},
          weights(certificate.getU()), weights(certificate.getV())))
    return certificate.emitError() << "proves nothing: " << *error;
  return checkMembers(certificate, columns);
}
