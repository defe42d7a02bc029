//===- RoleBoundProof.cpp - What proves a bound over all roles ------------===//

#include "RoleBoundProof.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace etc;
using llvm::SmallVector;
using Flaw = std::optional<std::string>;

/// Many times what a planner states; it bounds the work for a file.
constexpr int64_t kMostPairs = int64_t{1} << 20;

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

class Checker {
public:
  Checker(const RoleBoundFacts &facts, const StatedRoleBound &bound);
  Flaw run();

private:
  void readDevices();
  void readNodes();
  void readColumns();
  void readContents();
  Flaw checkScope() const;
  Flaw readInside();
  Flaw checkDuals() const;
  Flaw checkBytes() const;
  int64_t countTogether(const Roles &roles) const;
  int64_t countMostNodes() const;
  int64_t capacityInside(bool inside) const;
  int64_t countRate() const;
  int64_t rateOfNics(int64_t nics, bool inside) const;
  int64_t heldBy(size_t column) const;
  int64_t countFewest() const;
  Portion portionOf(int64_t role) const;
  int64_t lackedInside(const SmallVector<int64_t> &lacking, int64_t all) const;
  int64_t world() const { return facts.currRole.size(); }

  const RoleBoundFacts &facts;
  const StatedRoleBound &bound;
  SmallVector<int64_t> nodeOf; ///< [device]
  SmallVector<int64_t> usable; ///< [node]
  bool areGroupsWhole = false;
  std::vector<Column> columns;
  SmallVector<size_t> columnOf; ///< [node] or [device]
  llvm::BitVector isInside;     ///< [column]
  /// By the roles that need it: all bytes, and those that columns lack.
  std::map<Roles, std::pair<int64_t, SmallVector<int64_t>>> contents;
};
} // namespace

Checker::Checker(const RoleBoundFacts &facts, const StatedRoleBound &bound)
    : facts(facts), bound(bound), usable(facts.nodes.size()) {
  readDevices();
  readColumns();
}

//===----------------------------------------------------------------------===//
// The cluster
//===----------------------------------------------------------------------===//

void Checker::readDevices() {
  for (auto [node, size] : llvm::enumerate(facts.nodes))
    nodeOf.append(size, node);
  for (auto [device, canTakeRole] : llvm::enumerate(facts.canTakeRole))
    usable[nodeOf[device]] += canTakeRole;
  areGroupsWhole = facts.place != Place::Any &&
                   facts.tensorParallel <= *llvm::max_element(usable);
}

void Checker::readNodes() {
  std::vector<std::set<int64_t>> onNode(usable.size());
  for (auto [device, role] : llvm::enumerate(facts.prevRole))
    if (role >= 0)
      onNode[nodeOf[device]].insert(role);
  for (auto [node, size] : llvm::enumerate(facts.nodes)) {
    const std::set<int64_t> &roles = onNode[node];
    auto it = llvm::find_if(columns, [&](auto &c) { return c.roles == roles; });
    columnOf.push_back(it - columns.begin());
    if (it == columns.end())
      columns.emplace_back().roles = roles;
    Column &column = columns[columnOf.back()];
    const int64_t nics = std::min(facts.nics, size);
    column.nics.push_back(nics);
    if (usable[node] > 0)
      column.usableNics.push_back(nics);
  }
}

void Checker::readColumns() {
  if (bound.isOfNodes)
    readNodes();
  else
    for (int64_t role = 0; role <= facts.prevRoles; ++role)
      columns.emplace_back().roles.insert(role);
  for (auto [device, role] : llvm::enumerate(facts.prevRole)) {
    if (!bound.isOfNodes)
      columnOf.push_back(role < 0 ? facts.prevRoles : role);
    Column &column =
        columns[columnOf[bound.isOfNodes ? nodeOf[device] : device]];
    column.capacity += facts.canTakeRole[device];
    column.holders += role >= 0;
  }
  isInside.resize(columns.size());
}

/// The nodes that roles can be on.
int64_t Checker::countMostNodes() const {
  SmallVector<int64_t> rooms(usable);
  llvm::erase_if(rooms, [](int64_t room) { return room == 0; });
  llvm::sort(rooms, std::greater<>());
  const int64_t all = rooms.size(), tp = facts.tensorParallel,
                groups = world() / tp;
  if (facts.place != Place::Pack)
    return all;
  if (!areGroupsWhole)
    return std::min<int64_t>(all, groups * llvm::divideCeil(tp, rooms.front()));
  int64_t nodes = 0, placed = 0;
  while (placed < groups && nodes < all)
    placed += rooms[nodes++] / tp;
  return nodes;
}

int64_t Checker::capacityInside(bool inside) const {
  int64_t devices = 0;
  for (auto [number, column] : llvm::enumerate(columns))
    if (isInside.test(number) == inside)
      devices += column.capacity;
  return std::min(devices, world());
}

/// A device that takes part has a role before or after, and one NIC at most.
int64_t Checker::rateOfNics(int64_t nics, bool inside) const {
  int64_t devices = capacityInside(inside);
  for (auto [number, column] : llvm::enumerate(columns))
    if (isInside.test(number) == inside)
      devices += column.holders;
  return std::min(nics, devices) * facts.nicRate;
}

int64_t Checker::countRate() const {
  if (!bound.isOfNodes) {
    const int64_t devices = capacityInside(true);
    int64_t nics = 0, link = 0;
    for (auto [room, size] : llvm::zip_equal(usable, facts.nodes)) {
      if (usable.size() > 1 && room > 0)
        nics += std::min(facts.nics, size);
      if (size > 1)
        link = facts.linkRate;
    }
    return devices * link + std::min(nics, devices) * facts.nicRate;
  }
  const bool isInto = bound.witness != Witness::Others;
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

void Checker::readContents() {
  for (const auto &[who, bytes] : facts.shared) {
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
int64_t Checker::countTogether(const Roles &roles) const {
  if (!bound.isOfNodes)
    return 1;
  int64_t most = *llvm::max_element(usable);
  if (areGroupsWhole) {
    const int64_t tp = facts.tensorParallel;
    int64_t ofGroup = 0;
    auto isOf = [&](int64_t it) { return llvm::binary_search(roles, it); };
    for (int64_t first = 0; first < world(); first += tp) {
      const auto group = llvm::ArrayRef(facts.currRole).slice(first, tp);
      ofGroup = std::max<int64_t>(ofGroup, llvm::count_if(group, isOf));
    }
    most = most / tp * ofGroup;
  }
  return std::min<int64_t>(most, roles.size() * facts.replicas);
}

/// What no column inside holds, at least.
int64_t Checker::lackedInside(const SmallVector<int64_t> &lacking,
                              int64_t all) const {
  int64_t rest = all;
  for (unsigned number : isInside.set_bits())
    rest -= all - lacking[number];
  return std::max<int64_t>(0, rest);
}

int64_t Checker::heldBy(size_t column) const {
  int64_t bytes = 0;
  for (const auto &[roles, content] : contents)
    bytes += content.first - content.second[column];
  return bytes;
}

/// What the most nodes that roles can be on don't hold, whichever they are.
int64_t Checker::countFewest() const {
  SmallVector<int64_t> held;
  for (auto [number, column] : llvm::enumerate(columns))
    held.append(column.usableNics.size(), heldBy(number));
  llvm::sort(held, std::greater<>());
  int64_t bytes = 0;
  for (const auto &[roles, content] : contents)
    bytes += content.first;
  for (int64_t part : llvm::ArrayRef(held).take_front(countMostNodes()))
    bytes -= part;
  return bytes;
}

Portion Checker::portionOf(int64_t role) const {
  Portion portion;
  portion.found.resize(columns.size());
  for (const auto &[roles, content] : contents) {
    if (!llvm::binary_search(roles, role))
      continue;
    const auto &[all, lacking] = content;
    if (bound.witness == Witness::Others) {
      const int64_t ranks = roles.size() * facts.replicas;
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

static std::string text(const llvm::Twine &words) { return words.str(); }

Flaw Checker::checkScope() const {
  if (bound.witness != Witness::Each && !bound.isOfNodes)
    return "counts NICs of nodes, but is about devices";
  if (bound.isOfNodes && usable.size() < 2)
    return "is about a single node";
  if (llvm::sum_of(usable) < world())
    return "is about more ranks than devices may take";
  if (facts.currRoles > kMostPairs / static_cast<int64_t>(columns.size()))
    return text("is about more than " + llvm::Twine(kMostPairs) +
                " pairs of a role and a column");
  const bool hasDuals = bound.witness != Witness::Fewest;
  const size_t rows = hasDuals ? facts.currRoles : 0,
               duals = hasDuals ? columns.size() : 0;
  if (bound.u.size() != rows)
    return text("has " + llvm::Twine(bound.u.size()) +
                " values of u, expected " + llvm::Twine(rows));
  if (bound.v.size() != duals)
    return text("has " + llvm::Twine(bound.v.size()) +
                " values of v, expected " + llvm::Twine(duals));
  return std::nullopt;
}

/// All cells that may take a role and hold the same are inside, or none is.
Flaw Checker::readInside() {
  const std::string noun = bound.isOfNodes ? "node " : "device ";
  llvm::BitVector listed(columnOf.size());
  for (int64_t cell : bound.inside) {
    if (cell >= static_cast<int64_t>(columnOf.size()))
      return text("is about " + noun + llvm::Twine(cell) + ", there are " +
                  llvm::Twine(columnOf.size()));
    listed.set(cell);
    isInside.set(columnOf[cell]);
  }
  const bool isFewest = bound.witness == Witness::Fewest;
  for (unsigned cell = 0; cell < columnOf.size(); ++cell) {
    const bool isUsable =
        bound.isOfNodes ? usable[cell] > 0 : facts.canTakeRole[cell];
    if (isUsable == listed.test(cell) ||
        (isUsable && !isFewest && !isInside.test(columnOf[cell])))
      continue;
    return text(
        (isUsable ? "leaves out " : "is about ") + noun + llvm::Twine(cell) +
        (isUsable ? ", which may take roles" : ", which takes no role"));
  }
  return std::nullopt;
}

Flaw Checker::checkDuals() const {
  const auto &u = bound.u, &v = bound.v;
  auto isNegative = [](int64_t dual) { return dual < 0; };
  if (llvm::any_of(u, isNegative) || llvm::any_of(v, isNegative))
    return "has a dual below 0";
  __int128 bytes = 0;
  for (int64_t role = 0; role < facts.currRoles; ++role) {
    const Portion portion = portionOf(role);
    bytes += static_cast<__int128>(portion.all - u[role]) * facts.replicas;
    for (auto [number, column] : llvm::enumerate(columns))
      if (column.capacity > 0 &&
          static_cast<__int128>(u[role]) + v[number] < portion.found[number])
        return text("proves nothing: u[" + llvm::Twine(role) + "] + v[" +
                    llvm::Twine(number) + "] is less than the " +
                    llvm::Twine(portion.found[number]) + " bytes that role " +
                    llvm::Twine(role) + " finds on column " +
                    llvm::Twine(number));
  }
  for (auto [column, dual] : llvm::zip_equal(columns, v)) {
    if (column.capacity == 0 && dual != 0)
      return "has a dual of a column that takes no roles";
    bytes -= static_cast<__int128>(column.capacity) * dual;
  }
  if (bytes == static_cast<__int128>(bound.bytes))
    return std::nullopt;
  return text("states " + llvm::Twine(bound.bytes) +
              " bytes, its duals prove " +
              (bytes > 0 && bytes < INT64_MAX
                   ? std::to_string(static_cast<int64_t>(bytes))
                   : "no such number"));
}

Flaw Checker::checkBytes() const {
  if (bound.witness != Witness::Fewest)
    return checkDuals();
  const int64_t bytes = countFewest();
  if (bytes == bound.bytes)
    return std::nullopt;
  return text("states " + llvm::Twine(bound.bytes) + " bytes, no fewer than " +
              llvm::Twine(bytes) + " have to arrive");
}

Flaw Checker::run() {
  if (Flaw flaw = checkScope())
    return flaw;
  if (Flaw flaw = readInside())
    return flaw;
  if (const int64_t rate = countRate(); rate != bound.rate)
    return text("states a rate of " + llvm::Twine(bound.rate) +
                " bytes a second, " + llvm::Twine(rate) + " can arrive");
  readContents();
  return checkBytes();
}

Flaw etc::findFlaw(const RoleBoundFacts &facts, const StatedRoleBound &bound) {
  return Checker(facts, bound).run();
}
