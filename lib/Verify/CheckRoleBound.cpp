//===- CheckRoleBound.cpp - V17: no roles are faster ----------------------===//
//
// Counts again, from what lib/Layout says that roles hold: what roles find and
// lack on columns, what the duals then prove, and at which rate it can arrive.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "SharedBytes.h"

#include "llvm/ADT/BitVector.h"

#include <set>

using namespace etc;
using namespace mlir;

namespace {
using Roles = std::vector<int64_t>;

/// Cells that hold the same.
struct Column {
  std::set<int64_t> roles;
  int64_t capacity = 0, holders = 0;
  SmallVector<int64_t> nics, usableNics; ///< of its nodes
};

/// What a role has to do with a content.
struct Portion {
  int64_t all = 0;            ///< what it counts
  SmallVector<int64_t> found; ///< [column]
};

class RoleBoundChecker {
public:
  RoleBoundChecker(const PlanUnderTest &plan, RoleBoundOp bound);
  LogicalResult run();

private:
  void readDevices();
  void readNodes();
  void readColumns();
  void readContents();
  LogicalResult checkScope() const;
  LogicalResult readInside();
  LogicalResult checkDuals() const;
  int64_t countTogether(const Roles &roles) const;
  int64_t countMostNodes() const;
  int64_t capacityInside(bool inside) const;
  int64_t countRate() const;
  int64_t rateOfNics(int64_t nics, bool inside) const;
  int64_t heldBy(size_t column) const;
  int64_t countFewest() const;
  Portion portionOf(int64_t role) const;
  int64_t lackedInside(const SmallVector<int64_t> &lacking, int64_t all) const;

  const PlanUnderTest &plan;
  mutable MigrationOp migration;
  mutable RoleBoundOp bound;
  ParallelAttr curr;
  const bool isOfNodes;
  SmallVector<int64_t> prevRole, currRole; ///< [device], or -1; [rank]
  llvm::BitVector canTakeRole;             ///< [device]
  SmallVector<int64_t> usable;             ///< [node]
  bool areGroupsWhole = false;
  std::vector<Column> columns;
  SmallVector<size_t> columnOf; ///< [node] or [device]
  llvm::BitVector isInside;     ///< [column]
  /// By the roles that need it: all bytes, and those that columns lack.
  std::map<Roles, std::pair<int64_t, SmallVector<int64_t>>> contents;
};
} // namespace

RoleBoundChecker::RoleBoundChecker(const PlanUnderTest &plan, RoleBoundOp bound)
    : plan(plan), migration(plan.migration), bound(bound),
      curr(migration.getCurr()),
      isOfNodes(this->bound.getLevel() == Level::Node),
      prevRole(plan.nodeOf.size(), -1), canTakeRole(plan.nodeOf.size(), true),
      usable(migration.getNodes().size()) {
  readDevices();
  readColumns();
}

//===----------------------------------------------------------------------===//
// The cluster
//===----------------------------------------------------------------------===//

void RoleBoundChecker::readDevices() {
  for (auto [rank, device] : llvm::enumerate(migration.getPrevPlacement()))
    prevRole[device] = LayoutOracle::roleOfRank(migration.getPrev(), rank);
  for (int64_t device : migration.getFailed().value_or(ArrayRef<int64_t>())) {
    prevRole[device] = -1;
    canTakeRole.reset(device);
  }
  for (int64_t device : migration.getDraining().value_or(ArrayRef<int64_t>()))
    canTakeRole.reset(device);
  for (unsigned device : canTakeRole.set_bits())
    ++usable[plan.nodeOf[device]];
  const std::optional<Place> place = migration.getPlace();
  areGroupsWhole = place && *place != Place::Any &&
                   curr.getTp() <= *llvm::max_element(usable);
}

void RoleBoundChecker::readNodes() {
  std::vector<std::set<int64_t>> onNode(usable.size());
  for (auto [device, role] : llvm::enumerate(prevRole))
    if (role >= 0)
      onNode[plan.nodeOf[device]].insert(role);
  for (auto [node, size] : llvm::enumerate(migration.getNodes())) {
    const std::set<int64_t> &roles = onNode[node];
    auto it = llvm::find_if(columns, [&](auto &c) { return c.roles == roles; });
    columnOf.push_back(it - columns.begin());
    if (it == columns.end())
      columns.emplace_back().roles = roles;
    Column &column = columns[columnOf.back()];
    const int64_t nics = std::min(migration.getResourcesAttr().getNics(), size);
    column.nics.push_back(nics);
    if (usable[node] > 0)
      column.usableNics.push_back(nics);
  }
}

void RoleBoundChecker::readColumns() {
  const int64_t roles = migration.getPrev().getRoles();
  if (isOfNodes)
    readNodes();
  else
    for (int64_t role = 0; role <= roles; ++role)
      columns.emplace_back().roles.insert(role);
  for (auto [device, role] : llvm::enumerate(prevRole)) {
    if (!isOfNodes)
      columnOf.push_back(role < 0 ? roles : role);
    Column &column =
        columns[columnOf[isOfNodes ? plan.nodeOf[device] : device]];
    column.capacity += canTakeRole.test(device);
    column.holders += role >= 0;
  }
  isInside.resize(columns.size());
}

/// The nodes that roles can be on.
int64_t RoleBoundChecker::countMostNodes() const {
  SmallVector<int64_t> rooms(usable);
  llvm::erase_if(rooms, [](int64_t room) { return room == 0; });
  llvm::sort(rooms, std::greater<>());
  const int64_t all = rooms.size(), groups = curr.getWorld() / curr.getTp();
  if (migration.getPlace() != Place::Pack)
    return all;
  if (!areGroupsWhole)
    return std::min<int64_t>(
        all, groups * llvm::divideCeil(curr.getTp(), rooms.front()));
  int64_t nodes = 0, placed = 0;
  while (placed < groups && nodes < all)
    placed += rooms[nodes++] / curr.getTp();
  return nodes;
}

int64_t RoleBoundChecker::capacityInside(bool inside) const {
  int64_t devices = 0;
  for (auto [number, column] : llvm::enumerate(columns))
    if (isInside.test(number) == inside)
      devices += column.capacity;
  return std::min(devices, curr.getWorld());
}

/// A device that takes part has a role before or after, and one NIC at most.
int64_t RoleBoundChecker::rateOfNics(int64_t nics, bool inside) const {
  int64_t devices = capacityInside(inside);
  for (auto [number, column] : llvm::enumerate(columns))
    if (isInside.test(number) == inside)
      devices += column.holders;
  return std::min(nics, devices) * migration.getResourcesAttr().getNicRate();
}

int64_t RoleBoundChecker::countRate() const {
  const ResourcesAttr resources = migration.getResourcesAttr();
  if (!isOfNodes) {
    const int64_t devices = capacityInside(true);
    int64_t nics = 0, link = 0;
    for (auto [room, size] : llvm::zip_equal(usable, migration.getNodes())) {
      if (usable.size() > 1 && room > 0)
        nics += std::min(resources.getNics(), size);
      if (size > 1)
        link = resources.getLinkRate();
    }
    return devices * link + std::min(nics, devices) * resources.getNicRate();
  }
  const bool isInto = bound.getWitness() != Witness::Others;
  SmallVector<int64_t> nics;
  for (auto [number, column] : llvm::enumerate(columns))
    if (isInside.test(number) == isInto)
      llvm::append_range(nics, isInto ? column.usableNics : column.nics);
  llvm::sort(nics, std::greater<>());
  if (isInto)
    nics.truncate(std::min<size_t>(nics.size(), countMostNodes()));
  int64_t sum = 0;
  for (int64_t count : nics)
    sum += count;
  return rateOfNics(sum, isInto);
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

void RoleBoundChecker::readContents() {
  for (int64_t rank = 0; rank < curr.getWorld(); ++rank)
    currRole.push_back(LayoutOracle::roleOfRank(curr, rank));
  std::set<int64_t> held(prevRole.begin(), prevRole.end());
  held.erase(-1);
  for (const auto &[who, bytes] :
       countShared(plan.table, plan.oracle, held, curr.getRoles())) {
    auto &[all, lacking] = contents[who.first];
    all += bytes;
    lacking.resize(columns.size());
    for (size_t number = 0; number != columns.size(); ++number)
      if (llvm::none_of(who.second, [&](int64_t role) {
            return columns[number].roles.count(role) != 0;
          }))
        lacking[number] += bytes;
  }
}

/// The most ranks of these roles that can be in one cell.
int64_t RoleBoundChecker::countTogether(const Roles &roles) const {
  if (!isOfNodes)
    return 1;
  int64_t most = *llvm::max_element(usable);
  if (areGroupsWhole) {
    int64_t ofGroup = 0;
    auto isOf = [&](int64_t it) { return llvm::binary_search(roles, it); };
    for (int64_t first = 0; first < curr.getWorld(); first += curr.getTp()) {
      const auto group = ArrayRef(currRole).slice(first, curr.getTp());
      ofGroup = std::max<int64_t>(ofGroup, llvm::count_if(group, isOf));
    }
    most = most / curr.getTp() * ofGroup;
  }
  return std::min<int64_t>(most, roles.size() * curr.getRoleReplicas());
}

/// What no column inside holds, at least.
int64_t RoleBoundChecker::lackedInside(const SmallVector<int64_t> &lacking,
                                       int64_t all) const {
  int64_t rest = all;
  for (unsigned number : isInside.set_bits())
    rest -= all - lacking[number];
  return std::max<int64_t>(0, rest);
}

int64_t RoleBoundChecker::heldBy(size_t column) const {
  int64_t bytes = 0;
  for (const auto &[roles, content] : contents)
    bytes += content.first - content.second[column];
  return bytes;
}

/// What the most nodes that roles can be on don't hold, whichever they are.
int64_t RoleBoundChecker::countFewest() const {
  SmallVector<int64_t> held;
  for (auto [number, column] : llvm::enumerate(columns))
    held.append(column.usableNics.size(), heldBy(number));
  llvm::sort(held, std::greater<>());
  int64_t bytes = 0;
  for (const auto &[roles, content] : contents)
    bytes += content.first;
  for (int64_t part : ArrayRef(held).take_front(countMostNodes()))
    bytes -= part;
  return bytes;
}

Portion RoleBoundChecker::portionOf(int64_t role) const {
  Portion portion;
  portion.found.resize(columns.size());
  for (const auto &[roles, content] : contents) {
    if (!llvm::binary_search(roles, role))
      continue;
    const auto &[all, lacking] = content;
    if (bound.getWitness() == Witness::Others) {
      const int64_t ranks = roles.size() * curr.getRoleReplicas();
      portion.all +=
          lackedInside(lacking, all) / std::min(ranks, capacityInside(true));
      continue;
    }
    const int64_t share = countTogether(roles);
    portion.all += all / share;
    for (auto [found, lack] : llvm::zip_equal(portion.found, lacking))
      found += all / share - lack / share;
  }
  for (size_t number = 0; number < columns.size(); ++number)
    if (!isInside.test(number))
      portion.found[number] = portion.all;
  return portion;
}

//===----------------------------------------------------------------------===//
// The rule
//===----------------------------------------------------------------------===//

/// Where the request or an inventory decides, other roles are no matter.
LogicalResult RoleBoundChecker::checkScope() const {
  if (migration.getCurrDevices() || curr.getInventory() ||
      migration.getPrev().getInventory())
    return Refusal(bound, Rule::RoleBound)
           << "is about roles that the request does not leave open";
  if (bound.getWitness() != Witness::Each && !isOfNodes)
    return Refusal(bound, Rule::RoleBound)
           << "counts NICs of nodes, but is about devices";
  if (isOfNodes && usable.size() < 2)
    return Refusal(bound, Rule::RoleBound) << "is about a single node";
  const size_t duals =
      bound.getWitness() == Witness::Fewest ? 0 : columns.size();
  if (bound.getV().size() == duals)
    return success();
  return Refusal(bound, Rule::RoleBound)
         << "has " << bound.getV().size() << " values of v, expected " << duals;
}

/// All cells that may take a role and hold the same are inside, or none is.
LogicalResult RoleBoundChecker::readInside() {
  const StringRef noun = isOfNodes ? "node " : "device ";
  llvm::BitVector listed(columnOf.size());
  for (int64_t cell : bound.getInside()) {
    if (cell >= static_cast<int64_t>(columnOf.size()))
      return Refusal(bound, Rule::RoleBound)
             << "is about " << noun << cell << ", there are "
             << columnOf.size();
    listed.set(cell);
    isInside.set(columnOf[cell]);
  }
  const bool isFewest = bound.getWitness() == Witness::Fewest;
  for (unsigned cell = 0; cell < columnOf.size(); ++cell) {
    const bool isUsable = isOfNodes ? usable[cell] > 0 : canTakeRole.test(cell);
    if (isUsable == listed.test(cell) ||
        (isUsable && !isFewest && !isInside.test(columnOf[cell])))
      continue;
    return Refusal(bound, Rule::RoleBound)
           << (isUsable ? "leaves out " : "is about ") << noun << cell
           << (isUsable ? ", which may take roles" : ", which takes no role");
  }
  return success();
}

LogicalResult RoleBoundChecker::checkDuals() const {
  ArrayRef<int64_t> u = bound.getU(), v = bound.getV();
  if (llvm::any_of(u, [](int64_t dual) { return dual < 0; }) ||
      llvm::any_of(v, [](int64_t dual) { return dual < 0; }))
    return Refusal(bound, Rule::RoleBound) << "has a dual below 0";
  __int128 bytes = 0;
  for (int64_t role = 0; role < curr.getRoles(); ++role) {
    const Portion portion = portionOf(role);
    bytes +=
        static_cast<__int128>(portion.all - u[role]) * curr.getRoleReplicas();
    for (auto [number, column] : llvm::enumerate(columns))
      if (column.capacity > 0 &&
          static_cast<__int128>(u[role]) + v[number] < portion.found[number])
        return Refusal(bound, Rule::RoleBound)
               << "proves nothing: u[" << role << "] + v[" << number
               << "] is less than the " << portion.found[number]
               << " bytes that role " << role << " finds on column " << number;
  }
  for (auto [column, dual] : llvm::zip_equal(columns, v)) {
    if (column.capacity == 0 && dual != 0)
      return Refusal(bound, Rule::RoleBound)
             << "has a dual of a column that takes no roles";
    bytes -= static_cast<__int128>(column.capacity) * dual;
  }
  if (bytes == static_cast<__int128>(bound.getBytes()))
    return success();
  return Refusal(bound, Rule::RoleBound)
         << "states " << bound.getBytes() << " bytes, its duals prove "
         << (bytes > 0 && bytes < INT64_MAX
                 ? std::to_string(static_cast<int64_t>(bytes))
                 : "no such number");
}

LogicalResult RoleBoundChecker::run() {
  if (failed(checkScope()) || failed(readInside()))
    return failure();
  if (const int64_t rate = countRate();
      rate != static_cast<int64_t>(bound.getRate()))
    return Refusal(bound, Rule::RoleBound)
           << "states a rate of " << bound.getRate() << " bytes a second, "
           << rate << " can arrive";
  readContents();
  if (bound.getWitness() != Witness::Fewest)
    return checkDuals();
  const int64_t bytes = countFewest();
  if (bytes == static_cast<int64_t>(bound.getBytes()))
    return success();
  return Refusal(bound, Rule::RoleBound)
         << "states " << bound.getBytes() << " bytes, no fewer than " << bytes
         << " have to arrive";
}

LogicalResult etc::checkRoleBound(const PlanUnderTest &plan) {
  for (RoleBoundOp bound : plan.migration.getOps<RoleBoundOp>())
    if (failed(RoleBoundChecker(plan, bound).run()))
      return failure();
  return success();
}
