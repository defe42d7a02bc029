//===- RolePoser.cpp - The problem of the bound of all roles --------------===//

#include "RolePoser.h"

using namespace etc;
using namespace mlir;
using placement::RoleTimes;

static constexpr int64_t mostPairs = 32768;

RolePoser::RolePoser(MigrationOp migration, const TensorTable &table,
                     const BothHoldings &holdings, const Devices &devices,
                     const NodeClasses &classes)
    : migration(migration), curr(migration.getCurr()), table(table),
      holdings(holdings), devices(devices), classes(classes),
      usable(devices.getNodeCount()) {
  for (int64_t device = 0; device < devices.size(); ++device)
    usable[devices.getNode(device)] += devices.isUsable(device);
  areGroupsWhole = migration.getPlace().value_or(Place::Any) != Place::Any &&
                   curr.getTp() <= *llvm::max_element(usable);
}

bool RolePoser::isSmall() const {
  return curr.getRoles() * static_cast<int64_t>(countColumns()) <= mostPairs;
}

/// The roles of each tensor-parallel group: its ranks follow each other.
void RolePoser::listGroups() {
  for (int64_t rank = 0; rank < curr.getWorld(); rank += curr.getTp()) {
    SmallVector<int64_t> roles;
    for (int64_t i = 0; i < curr.getTp(); ++i)
      roles.push_back(placeOfRank(curr, rank + i).role);
    groups.insert(roles);
  }
}

bool RolePoser::listContents() {
  SmallVector<SmallVector<int64_t>> columns(classes.roles);
  for (int64_t role = 0; role < holdings.prev.size(); ++role)
    columns.push_back({role});
  columns.emplace_back();
  auto found = etc::listContents(table, holdings, columns);
  if (!found)
    return false;
  contents = std::move(*found);
  if (areGroupsWhole)
    listGroups();
  return true;
}

/// The most ranks of these roles that one node can have: of whole groups, as
/// many as fit.
int64_t RolePoser::countTogether(ArrayRef<int64_t> roles) const {
  int64_t room = *llvm::max_element(usable);
  if (areGroupsWhole) {
    int64_t ofGroup = 0;
    for (ArrayRef<int64_t> group : groups)
      ofGroup =
          std::max<int64_t>(ofGroup, llvm::count_if(group, [&](int64_t role) {
                              return llvm::binary_search(roles, role);
                            }));
    room = room / curr.getTp() * ofGroup;
  }
  return std::min<int64_t>(room, roles.size() * curr.getRoleReplicas());
}

/// Nodes that roles can be on: under pack the fewest.
int64_t RolePoser::countMostNodes() const {
  const int64_t all = llvm::count_if(usable, [](int64_t n) { return n > 0; }),
                tp = curr.getTp(), count = curr.getWorld() / tp;
  if (migration.getPlace() != Place::Pack)
    return all;
  SmallVector<int64_t> rooms(usable);
  llvm::sort(rooms, std::greater<>());
  if (!areGroupsWhole)
    return std::min<int64_t>(all, count * llvm::divideCeil(tp, rooms.front()));
  int64_t nodes = 0;
  for (int64_t room = 0; room < count && nodes < all; ++nodes)
    room += rooms[nodes] / tp;
  return nodes;
}

void RolePoser::addCells(RoleTimes &times, Level level) const {
  const ResourcesAttr resources = migration.getResourcesAttr();
  const bool isOfDevices = level == Level::Device;
  times.columns.resize(isOfDevices ? holdings.prev.size() + 1
                                   : classes.roles.size());
  if (!isOfDevices)
    for (auto [node, size] : llvm::enumerate(migration.getNodes()))
      times.columns[classes.ofNode[node]].cells.push_back(
          {std::min(resources.getNics(), size), usable[node] > 0});
  for (int64_t device = 0; device < devices.size(); ++device) {
    const int64_t role = devices.getPrevRole(device);
    const int64_t column = !isOfDevices
                               ? classes.ofNode[devices.getNode(device)]
                           : role < 0 ? holdings.prev.size()
                                      : role;
    times.columns[column].capacity += devices.isUsable(device);
    times.columns[column].holders += role >= 0;
  }
}

RoleTimes RolePoser::pose(Level level) const {
  const ResourcesAttr resources = migration.getResourcesAttr();
  RoleTimes times;
  times.ofDevices = level == Level::Device;
  times.rows = curr.getRoles();
  times.replicas = curr.getRoleReplicas();
  times.mostCells = times.ofDevices ? devices.size() : countMostNodes();
  times.nicRate = resources.getNicRate();
  addCells(times, level);
  for (auto [node, size] : llvm::enumerate(migration.getNodes())) {
    if (devices.getNodeCount() > 1 && usable[node] > 0)
      times.nics += std::min(resources.getNics(), size);
    if (size > 1)
      times.linkRate = resources.getLinkRate();
  }
  const size_t first = times.ofDevices ? classes.roles.size() : 0;
  for (const NeededContent &content : contents) {
    const auto lacking =
        ArrayRef(content.lacking).slice(first, times.columns.size());
    times.contents.push_back(
        {{content.roles.begin(), content.roles.end()},
         static_cast<int64_t>(content.roles.size()) * times.replicas,
         times.ofDevices ? 1 : countTogether(content.roles),
         content.bytes,
         {lacking.begin(), lacking.end()}});
  }
  return times;
}

SmallVector<int64_t> RolePoser::cellsOf(ArrayRef<int64_t> columns,
                                        Level level) const {
  SmallVector<int64_t> cells;
  if (level == Level::Node) {
    for (auto [node, room] : llvm::enumerate(usable))
      if (room > 0 && llvm::binary_search(columns, classes.ofNode[node]))
        cells.push_back(node);
    return cells;
  }
  for (int64_t device = 0; device < devices.size(); ++device) {
    const int64_t role = devices.getPrevRole(device);
    if (devices.isUsable(device) &&
        llvm::binary_search(columns, role < 0 ? holdings.prev.size() : role))
      cells.push_back(device);
  }
  return cells;
}
