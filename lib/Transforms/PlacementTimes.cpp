//===- PlacementTimes.cpp - How long a placement takes at least -----------===//

#include "etc/Transforms/PlacementTimes.h"

#include "etc/Analysis/RoleContents.h"

#include <set>

using namespace etc;
using namespace mlir;

static constexpr int64_t mostPairs = 1 << 15;

struct PlacementTimes::Tables {
  Tables(MigrationOp migration, const TensorTable &table,
         const BothHoldings &holdings, const Devices &devices,
         const NodeClasses &nodeClasses);

  /// What roles need together, and cells of a column do not hold.
  int64_t countLacking(const std::set<int64_t> &roles, int64_t column) const;

  ParallelAttr curr;
  ResourcesAttr resources;
  SmallVector<int64_t> nodes; ///< devices of each
  SmallVector<int64_t> nodeOf, prevRole;
  SmallVector<int64_t> classOf; ///< [node]
  int64_t prevRoles, classes;
  std::optional<std::vector<NeededContent>> contents;
};

/// Columns are the classes of nodes, the previous roles, and devices without
/// one.
PlacementTimes::Tables::Tables(MigrationOp migration, const TensorTable &table,
                               const BothHoldings &holdings,
                               const Devices &devices,
                               const NodeClasses &nodeClasses)
    : curr(migration.getCurr()), resources(migration.getResourcesAttr()),
      nodes(migration.getNodes()), classOf(nodeClasses.ofNode),
      prevRoles(holdings.prev.size()), classes(nodeClasses.roles.size()) {
  for (int64_t device = 0; device < devices.size(); ++device) {
    nodeOf.push_back(devices.getNode(device));
    prevRole.push_back(devices.getPrevRole(device));
  }
  SmallVector<SmallVector<int64_t>> columns(nodeClasses.roles);
  for (int64_t role = 0; role < prevRoles; ++role)
    columns.push_back({role});
  columns.emplace_back();
  if (curr.getRoles() * static_cast<int64_t>(columns.size()) <= mostPairs)
    contents = listContents(table, holdings, columns);
}

int64_t PlacementTimes::Tables::countLacking(const std::set<int64_t> &roles,
                                             int64_t column) const {
  int64_t bytes = 0;
  for (const NeededContent &content : *contents)
    if (llvm::any_of(content.roles,
                     [&](int64_t role) { return roles.count(role) != 0; }))
      bytes += content.lacking[column];
  return bytes;
}

PlacementTimes::PlacementTimes(MigrationOp migration, const TensorTable &table,
                               const BothHoldings &holdings,
                               const Devices &devices,
                               const NodeClasses &classes)
    : tables(std::make_unique<Tables>(migration, table, holdings, devices,
                                      classes)) {}

PlacementTimes::~PlacementTimes() = default;

std::optional<EnteringTime>
PlacementTimes::of(ArrayRef<int64_t> placement) const {
  const Tables &its = *tables;
  if (!its.contents || !its.resources)
    return std::nullopt;
  std::vector<std::set<int64_t>> rolesOn(its.nodes.size());
  SmallVector<int64_t> participants(its.nodes.size()),
      roleOf(its.nodeOf.size(), -1);
  for (auto [rank, device] : llvm::enumerate(placement)) {
    roleOf[device] = placeOfRank(its.curr, rank).role;
    rolesOn[its.nodeOf[device]].insert(roleOf[device]);
  }
  for (auto [device, node] : llvm::enumerate(its.nodeOf))
    participants[node] += roleOf[device] >= 0 || its.prevRole[device] >= 0;
  const auto link = static_cast<double>(its.resources.getLinkRate()),
             nic = llvm::count_if(participants, [](int64_t n) { return n; }) > 1
                       ? static_cast<double>(its.resources.getNicRate())
                       : 0.0;
  EnteringTime time;
  for (auto [node, roles] : llvm::enumerate(rolesOn)) {
    const int64_t bytes = its.countLacking(roles, its.classOf[node]),
                  nics = std::min({its.resources.getNics(), its.nodes[node],
                                   participants[node]});
    time.internode += bytes;
    if (bytes > 0)
      time.seconds =
          std::max(time.seconds, static_cast<double>(bytes) /
                                     (nic * static_cast<double>(nics)));
  }
  for (auto [device, role] : llvm::enumerate(roleOf)) {
    const int64_t held = its.prevRole[device];
    const int64_t bytes =
        role < 0 ? 0
                 : its.countLacking(
                       {role}, its.classes + (held < 0 ? its.prevRoles : held));
    if (bytes > 0)
      time.seconds = std::max(
          time.seconds,
          static_cast<double>(bytes) /
              (nic + (participants[its.nodeOf[device]] > 1 ? link : 0)));
  }
  return time;
}
