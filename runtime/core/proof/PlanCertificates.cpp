// The proof in a plan file.

#include "core/proof/PlanCertificates.h"

#include "core/plan/Configuration.h"
#include "core/plan/SectionMap.h"
#include "core/proof/PlanBenefits.h"
#include "core/proof/PlanRelays.h"
#include "core/proof/PlanRoleBound.h"
#include "core/proof/PlanTimeBounds.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <map>
#include <set>

using namespace etc;
using namespace etc::plan;
namespace fb = etc::plan::fb;

namespace {

/// Compares the benefits of one certificate with its duals.
class DualChecker {
public:
  DualChecker(const PlanIndex &index, const fb::Certificate &certificate,
              const Columns &columns);
  Status run() const;

private:
  Status checkPools() const;
  Status checkRows(uint64_t row) const;
  Status check(uint64_t row, uint64_t column) const;
  /// The row of least dual in a pool, and the column in a group; -1 where the
  /// group has no device that may take a role.
  std::vector<int64_t> leastRows, leastColumns;
  const fb::Certificate &certificate;
  const Columns &columns;
  const PlanBenefits benefits;
};

} // namespace

/// The position of the least dual in every class, or -1.
template <typename Skip>
static std::vector<int64_t> leastOf(const flatbuffers::Vector<uint64_t> &duals,
                                    const std::vector<uint64_t> &classOf,
                                    uint64_t classes, Skip skip) {
  std::vector<int64_t> least(classes, -1);
  for (uint32_t i = 0; i != duals.size(); ++i) {
    int64_t &best = least[classOf[i]];
    if (!skip(i) && (best < 0 || duals[i] < duals[best]))
      best = i;
  }
  return least;
}

DualChecker::DualChecker(const PlanIndex &index,
                         const fb::Certificate &certificate,
                         const Columns &columns)
    : certificate(certificate), columns(columns), benefits(index, columns) {
  leastRows = leastOf(*certificate.row_duals(), benefits.poolOf,
                      benefits.pools.size(), [](uint32_t) { return false; });
  leastColumns =
      leastOf(*certificate.column_duals(), benefits.groupOf, benefits.groups,
              [&](uint32_t column) { return columns.devices[column] == 0; });
}

/// Nobody takes a role on a column without devices.
Status DualChecker::check(uint64_t row, uint64_t column) const {
  if (columns.devices[column] == 0)
    return Status::success();
  const uint64_t rowDual = certificate.row_duals()->Get(row),
                 columnDual = certificate.column_duals()->Get(column),
                 benefit = benefits.of(row, column);
  if (addBytes(rowDual, columnDual) >= benefit)
    return Status::success();
  return malformed(": row_duals[", row, "] + column_duals[", column, "] is ",
                   addBytes(rowDual, columnDual), ", less than the ", benefit,
                   " bytes of row ", row, " that column ", column, " has");
}

/// Where only the pool counts, all pairs hold if the one of least duals does.
Status DualChecker::checkPools() const {
  for (size_t pool = 0; pool != leastRows.size(); ++pool) {
    const int64_t row = leastRows[pool];
    if (row < 0)
      continue;
    for (int64_t column : leastColumns)
      if (column >= 0)
        if (Status s = check(row, column); !s.ok())
          return s;
    for (const auto &[column, bytes] : benefits.poolsOnColumns[pool])
      if (Status s = check(row, column); !s.ok())
        return s;
  }
  return Status::success();
}

Status DualChecker::checkRows(uint64_t row) const {
  for (const auto &[group, bytes] : benefits.rowsOnGroups[row])
    if (leastColumns[group] >= 0)
      if (Status s = check(row, leastColumns[group]); !s.ok())
        return s;
  for (const auto &[column, bytes] : benefits.rowsOnColumns[row])
    if (Status s = check(row, column); !s.ok())
      return s;
  // Both parts may come together.
  if (!benefits.rowsOnGroups[row].empty())
    for (const auto &[column, bytes] :
         benefits.poolsOnColumns[benefits.poolOf[row]])
      if (Status s = check(row, column); !s.ok())
        return s;
  return Status::success();
}

Status DualChecker::run() const {
  if (Status s = checkPools(); !s.ok())
    return s;
  for (uint64_t row = 0; row != benefits.poolOf.size(); ++row)
    if (Status s = checkRows(row); !s.ok())
      return s;
  return Status::success();
}

static Columns columnsOf(const PlanIndex &index,
                         const fb::Certificate &certificate) {
  return certificate.quantity() == fb::Quantity::internode_bytes
             ? columnsOfNodes(index)
             : columnsOfDevices(index);
}

static Status verifyDuals(const PlanIndex &index,
                          const fb::Certificate &certificate) {
  const Columns columns = columnsOf(index, certificate);
  return DualChecker(index, certificate, columns).run();
}

static Status verifyRelays(const PlanIndex &index,
                           const fb::Certificate &certificate) {
  if (certificate.quantity() != fb::Quantity::internode_bytes ||
      !certificate.covers_relays())
    return Status::success();
  const uint64_t needed = neededBytes(index),
                 kept = keptAtMost(index.plan(), certificate,
                                   columnsOfNodes(index)),
                 least =
                     leastEntering(index, needed > kept ? needed - kept : 0);
  if (certificate.bound() <= least)
    return Status::success();
  return malformed(".bound: is ", certificate.bound(), ", with relays ", least,
                   " bytes have to enter nodes");
}

using Check = Status (*)(const PlanIndex &, const fb::Certificate &);

static Status verifyAll(const PlanIndex &index,
                        std::initializer_list<Check> checks) {
  const auto *certificates = index.plan().certificates();
  for (uint32_t i = 0; certificates && i != certificates->size(); ++i)
    for (Check check : checks)
      if (Status s = check(index, *certificates->Get(i)); !s.ok())
        return Status(s.kind(), text("certificates[", i, "]", s.message()));
  return Status::success();
}

Status etc::verifyCertificates(const PlanIndex &index) {
  if (Status s = verifyAll(index, {verifyDuals, verifyRelays}); !s.ok())
    return s;
  if (Status s = verifyTimeBounds(index); !s.ok())
    return s;
  return verifyRoleBound(index);
}

Status etc::verifyRelayBounds(const PlanIndex &index) {
  return verifyAll(index, {verifyRelays});
}

Status etc::verifyBoundOfLanes(const PlanIndex &index) {
  const fb::Plan &plan = index.plan();
  const uint64_t stated = plan.lanes()->internode_bound();
  const fb::Certificate *certificate =
      findCertificate(plan, fb::Quantity::internode_bytes);
  const uint64_t needed = neededBytes(index),
                 kept = certificate ? keptAtMost(plan, *certificate,
                                                 columnsOfNodes(index))
                                    : needed,
                 lacking = needed > kept ? needed - kept : 0,
                 least = leastEntering(
                     index, mulBytes(lacking, plan.lanes()->count()));
  return stated <= least
             ? Status::success()
             : malformed("lanes.internode_bound: is ", stated, ", with relays ",
                         least, " bytes have to enter nodes");
}

/// What nodes of all sections keep by duals at most. Those without previous
/// roles keep nothing.
static uint64_t keptInSections(const PlanIndex &index, const SectionMap &map,
                               const fb::Certificate &certificate) {
  const fb::Configuration &prev = *index.plan().prev(),
                          &curr = *index.plan().curr();
  uint64_t kept = 0;
  for (uint32_t role = 0; role != certificate.row_duals()->size(); ++role) {
    const uint32_t stage = role / (roleCount(curr) / curr.pp());
    kept += certificate.row_duals()->Get(role) * replicasOfRole(curr) *
            map.copies(map.kindOfStage(plan::Side::Curr, stage));
  }
  std::map<uint32_t, std::set<uint64_t>> rolesOn; // by node
  for (const fb::Program *program : *index.plan().programs())
    if (program->prev_role())
      for (uint32_t device : *program->devices())
        rolesOn[index.nodeOf(device)].insert(
            *numberOfRole(prev, *program->prev_role()));
  const Columns columns = columnsOfNodes(index);
  for (const auto &[node, roles] : rolesOn) {
    const std::vector<uint64_t> list(roles.begin(), roles.end());
    const size_t column =
        std::find(columns.roles.begin(), columns.roles.end(), list) -
        columns.roles.begin();
    kept += certificate.column_duals()->Get(column) * index.nodes()[node] *
            map.copies(map.kindOfNode(node));
  }
  return kept;
}

Status etc::verifyBoundOfSections(const PlanIndex &index) {
  const fb::Plan &plan = index.plan();
  const uint64_t stated = plan.sections()->summary()->bound_internode_bytes();
  const fb::Certificate *certificate =
      findCertificate(plan, fb::Quantity::internode_bytes);
  if (!certificate)
    return stated == 0
               ? Status::success()
               : malformed("sections.summary.bound_internode_bytes: is ",
                           stated, " without a certificate");
  const SectionMap map(plan);
  const uint64_t needed = neededBytes(index, map.copiesOfRanks(index)),
                 kept = keptInSections(index, map, *certificate),
                 lanes = plan.lanes() ? plan.lanes()->count() : 1,
                 least = leastEntering(
                     index, needed > kept ? (needed - kept) * lanes : 0);
  return stated <= least
             ? Status::success()
             : malformed("sections.summary.bound_internode_bytes: is ", stated,
                         ", with relays ", least, " bytes have to enter nodes");
}
