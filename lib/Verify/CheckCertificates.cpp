//===- CheckCertificates.cpp - V10: duals prove what is stated ------------===//
//
// A role with dual u on a column with dual v keeps at most u + v bytes. Over
// all roles and columns that is a bound for every assignment, whoever found the
// duals and however.
//
//===----------------------------------------------------------------------===//

#include "Benefits.h"
#include "Rules.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

#include <set>

using namespace etc;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// The previous roles that the living devices of every node hold, ascending.
static ReachedRoles rolesOnNodes(const PlanUnderTest &plan) {
  std::vector<std::set<int64_t>> roles(plan.migration.getNodes().size());
  for (ProgramOp program : plan.programs)
    if (std::optional<RoleAttr> prev = program.getPrev())
      for (int64_t device : program.getDevices())
        roles[plan.nodeOf[device]].insert(
            plan.migration.getPrev().getRoleIndex(*prev));
  ReachedRoles lists;
  for (const std::set<int64_t> &ofNode : roles)
    lists.emplace_back(ofNode.begin(), ofNode.end());
  return lists;
}

/// One role a column at the device level; at the node level all roles of a
/// node, nodes that hold the same being one.
static ReachedRoles columnsOf(const PlanUnderTest &plan, Level level,
                              const ReachedRoles &onNodes) {
  ReachedRoles columns;
  if (level == Level::Device) {
    for (int64_t role = 0; role < plan.migration.getPrev().getRoles(); ++role)
      columns.push_back({role});
    return columns;
  }
  std::set<SmallVector<int64_t>> seen;
  for (const SmallVector<int64_t> &roles : onNodes)
    if (seen.insert(roles).second)
      columns.push_back(roles);
  return columns;
}

/// How many devices of every column may take a role.
static SmallVector<int64_t> countMembers(const PlanUnderTest &plan, Level level,
                                         const ReachedRoles &onNodes,
                                         const ReachedRoles &columns) {
  MigrationOp migration = plan.migration;
  llvm::DenseSet<int64_t> unusable;
  for (auto list : {migration.getFailed(), migration.getDraining()})
    unusable.insert_range(list.value_or(ArrayRef<int64_t>()));
  std::map<SmallVector<int64_t>, int64_t> members;
  if (level == Level::Node) {
    for (int64_t device = 0; device < migration.getDeviceCount(); ++device)
      if (!unusable.contains(device))
        ++members[onNodes[plan.nodeOf[device]]];
  } else {
    for (auto [rank, device] : llvm::enumerate(migration.getPrevPlacement()))
      if (!unusable.contains(device))
        ++members[{LayoutOracle::roleOfRank(migration.getPrev(), rank)}];
  }
  return llvm::map_to_vector(columns, [&](const SmallVector<int64_t> &column) {
    return members[column];
  });
}

//===----------------------------------------------------------------------===//
// Duals
//===----------------------------------------------------------------------===//

/// The place of the least dual of every group.
static SmallVector<size_t> leastOf(ArrayRef<int64_t> duals,
                                   ArrayRef<unsigned> groups, size_t count) {
  SmallVector<size_t> least(count, duals.size());
  for (auto [place, group] : llvm::enumerate(groups))
    if (least[group] == duals.size() || duals[place] < duals[least[group]])
      least[group] = place;
  return least;
}

static std::string showBytes(__int128 bytes) {
  constexpr __int128 most = std::numeric_limits<int64_t>::max();
  return bytes > most ? "more than " + std::to_string(int64_t(most))
                      : std::to_string(static_cast<int64_t>(bytes));
}

static LogicalResult checkCover(CertificateOp certificate, size_t row,
                                size_t column, int64_t benefit) {
  const __int128 cover = static_cast<__int128>(certificate.getU()[row]) +
                         certificate.getV()[column];
  if (cover >= benefit)
    return success();
  return Refusal(certificate, Rule::Certificates)
         << "proves nothing: u[" << row << "] + v[" << column << "] is "
         << showBytes(cover) << ", less than the " << benefit
         << " bytes of row " << row << " that column " << column << " has";
}

/// Every pair is covered. Where only its groups matter, all pairs of two groups
/// are if the one with the least duals is.
static LogicalResult checkCovers(CertificateOp certificate,
                                 const ColumnBenefits &benefits) {
  const size_t pools = benefits.ofGroups.size(),
               groups = pools ? benefits.ofGroups.front().size() : 0;
  const SmallVector<size_t> rows = leastOf(certificate.getU(),
                                           benefits.rowGroup, pools),
                            columns = leastOf(certificate.getV(),
                                              benefits.colGroup, groups);
  for (size_t pool = 0; pool < pools; ++pool)
    for (size_t group = 0; group < groups; ++group)
      if (failed(checkCover(certificate, rows[pool], columns[group],
                            benefits.ofGroups[pool][group])))
        return failure();
  for (auto [row, ofRow] : llvm::enumerate(benefits.ofPairs))
    for (auto [column, more] : ofRow)
      if (failed(
              checkCover(certificate, row, column,
                         more + benefits.ofGroups[benefits.rowGroup[row]]
                                                 [benefits.colGroup[column]])))
        return failure();
  return success();
}

/// Every dual above 0 is the least that covers: a pair of its row or column has
/// just what it allows. Of an optimal solution that holds, so a bound that
/// counts some bytes twice is not only true but too loose.
static LogicalResult checkTight(CertificateOp certificate,
                                const ColumnBenefits &benefits) {
  ArrayRef<int64_t> u = certificate.getU(), v = certificate.getV();
  const size_t pools = benefits.ofGroups.size(),
               groups = pools ? benefits.ofGroups.front().size() : 0;
  const SmallVector<size_t> rows = leastOf(u, benefits.rowGroup, pools),
                            columns = leastOf(v, benefits.colGroup, groups);
  llvm::BitVector tightRows(u.size()), tightColumns(v.size());
  for (auto [row, pool] : llvm::enumerate(benefits.rowGroup))
    for (size_t group = 0; group < groups; ++group)
      if (u[row] + v[columns[group]] == benefits.ofGroups[pool][group])
        tightRows.set(row);
  for (auto [column, group] : llvm::enumerate(benefits.colGroup))
    for (size_t pool = 0; pool < pools; ++pool)
      if (u[rows[pool]] + v[column] == benefits.ofGroups[pool][group])
        tightColumns.set(column);
  for (auto [row, ofRow] : llvm::enumerate(benefits.ofPairs))
    for (auto [column, more] : ofRow)
      if (u[row] + v[column] ==
          more + benefits.ofGroups[benefits.rowGroup[row]]
                                  [benefits.colGroup[column]]) {
        tightRows.set(row);
        tightColumns.set(column);
      }
  auto fail = [&](StringRef dual, size_t place) -> LogicalResult {
    return Refusal(certificate, Rule::Certificates)
           << "is no least bound: " << dual << "[" << place
           << "] could be lower";
  };
  for (size_t row = 0; row < u.size(); ++row)
    if (u[row] > 0 && !tightRows.test(row))
      return fail("u", row);
  for (auto [column, members] : llvm::enumerate(certificate.getMembers()))
    if (members > 0 && v[column] > 0 && !tightColumns.test(column))
      return fail("v", column);
  return success();
}

/// What the duals prove in all is what the certificate states.
static LogicalResult checkTotal(CertificateOp certificate, int64_t supply) {
  __int128 total = 0;
  for (int64_t dual : certificate.getU())
    total += static_cast<__int128>(supply) * dual;
  for (auto [members, dual] :
       llvm::zip_equal(certificate.getMembers(), certificate.getV()))
    total += static_cast<__int128>(members) * dual;
  if (total == static_cast<__int128>(certificate.getKept()))
    return success();
  return Refusal(certificate, Rule::Certificates)
         << "proves nothing: its duals prove " << showBytes(total)
         << " bytes kept, it states " << certificate.getKept();
}

/// As many duals as roles and columns, none below 0.
static LogicalResult checkDuals(CertificateOp certificate, size_t rows,
                                size_t columns) {
  if (certificate.getV().size() != columns)
    return Refusal(certificate, Rule::Certificates)
           << "has " << certificate.getV().size() << " columns, expected "
           << columns;
  if (certificate.getU().size() != rows)
    return Refusal(certificate, Rule::Certificates)
           << "has " << certificate.getU().size() << " rows, expected " << rows;
  for (ArrayRef<int64_t> duals : {certificate.getU(), certificate.getV()})
    for (int64_t dual : duals)
      if (dual < 0)
        return Refusal(certificate, Rule::Certificates)
               << "proves nothing: a dual is " << dual
               << ", expected at least 0";
  return success();
}

static LogicalResult checkCertificate(const PlanUnderTest &plan,
                                      const BenefitCounter &counter,
                                      CertificateOp certificate) {
  ParallelAttr curr = plan.migration.getCurr();
  const ReachedRoles onNodes = rolesOnNodes(plan),
                     columns = columnsOf(plan, certificate.getLevel(), onNodes);
  if (failed(checkDuals(certificate, curr.getRoles(), columns.size())))
    return failure();
  // One that leaves some out proves less.
  if (ArrayRef<int64_t>(countMembers(plan, certificate.getLevel(), onNodes,
                                     columns)) != certificate.getMembers())
    return Refusal(certificate, Rule::Certificates)
           << "does not count the devices that may take a role";
  const ColumnBenefits benefits = counter.count(columns);
  if (failed(checkCovers(certificate, benefits)) ||
      failed(checkTotal(certificate, curr.getRoleReplicas())))
    return failure();
  return checkTight(certificate, benefits);
}

LogicalResult etc::checkCertificates(const PlanUnderTest &plan) {
  const BenefitCounter counter(plan.migration, plan.table, plan.oracle);
  for (CertificateOp certificate : plan.migration.getOps<CertificateOp>())
    if (failed(checkCertificate(plan, counter, certificate)))
      return failure();
  return success();
}
