// What proves a bound over all roles.

#include "core/proof/RoleBoundProof.h"
#include "core/proof/RolePlace.h"

#include "core/plan/Status.h"
#include "core/plan/TotalRate.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <span>

using namespace etc;
using plan::text;
using Witness = plan::fb::RoleWitness;
using Flaw = std::optional<std::string>;

/// Many times what a planner states; it bounds the work for a file.
constexpr int64_t kMostPairs = int64_t{1} << 20;

namespace {
using Roles = std::vector<int64_t>;

/// Cells that hold the same.
struct Column {
  std::set<int64_t> roles;
  int64_t capacity = 0, holders = 0;
  std::vector<int64_t> nics, usableNics; ///< of its nodes
};

/// What a role has to do with a content.
struct Portion {
  int64_t all = 0;            ///< what it counts
  std::vector<int64_t> found; ///< [column]
};

class Checker {
public:
  Checker(const RoleBoundFacts &facts, const StatedRoleBound &bound);
  Flaw run();

private:
  void readNodes();
  void readColumns();
  void readContents();
  Flaw checkScope() const;
  Flaw readInside();
  Flaw checkDuals() const;
  Flaw checkBytes() const;
  int64_t countTogether(const Roles &roles) const;
  int64_t capacityInside(bool inside) const;
  int64_t countRate() const;
  int64_t rateOf(int64_t links, int64_t nics) const;
  int64_t rateOfNics(int64_t nics, bool inside) const;
  int64_t heldBy(size_t column) const;
  int64_t countFewest() const;
  Portion portionOf(int64_t role) const;
  int64_t lackedInside(const std::vector<int64_t> &lacking, int64_t all) const;
  int64_t world() const { return facts.currRole.size(); }

  const RoleBoundFacts &facts;
  const StatedRoleBound &bound;
  const RolePlace place;
  const std::vector<size_t> &nodeOf = place.nodeOf();  ///< [device]
  const std::vector<int64_t> &usable = place.usable(); ///< [node]
  std::vector<Column> columns;
  std::vector<size_t> columnOf; ///< [node] or [device]
  std::vector<bool> isInside;   ///< [column]
  /// By the roles that need it: all bytes, and those that columns lack.
  std::map<Roles, std::pair<int64_t, std::vector<int64_t>>> contents;
};
} // namespace

Checker::Checker(const RoleBoundFacts &facts, const StatedRoleBound &bound)
    : facts(facts), bound(bound), place(facts) {
  readColumns();
}

//===----------------------------------------------------------------------===//
// The cluster
//===----------------------------------------------------------------------===//

void Checker::readNodes() {
  std::vector<std::set<int64_t>> onNode(usable.size());
  for (size_t device = 0; device != facts.prevRole.size(); ++device)
    if (facts.prevRole[device] >= 0)
      onNode[nodeOf[device]].insert(facts.prevRole[device]);
  for (size_t node = 0; node != usable.size(); ++node) {
    const std::set<int64_t> &roles = onNode[node];
    auto it = std::ranges::find(columns, roles, &Column::roles);
    columnOf.push_back(it - columns.begin());
    if (it == columns.end())
      columns.emplace_back().roles = roles;
    Column &column = columns[columnOf.back()];
    const int64_t nics = std::min(facts.nics, facts.nodes[node]);
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
  for (size_t device = 0; device != facts.prevRole.size(); ++device) {
    const int64_t role = facts.prevRole[device];
    if (!bound.isOfNodes)
      columnOf.push_back(role < 0 ? facts.prevRoles : role);
    Column &column =
        columns[columnOf[bound.isOfNodes ? nodeOf[device] : device]];
    column.capacity += facts.canTakeRole[device];
    column.holders += role >= 0;
  }
  isInside.resize(columns.size());
}

int64_t Checker::capacityInside(bool inside) const {
  int64_t devices = 0;
  for (size_t number = 0; number != columns.size(); ++number)
    if (isInside[number] == inside)
      devices += columns[number].capacity;
  return std::min(devices, world());
}

int64_t Checker::rateOf(int64_t links, int64_t nics) const {
  return static_cast<int64_t>(plan::totalRate(
      static_cast<uint64_t>(links), static_cast<uint64_t>(facts.linkRate),
      static_cast<uint64_t>(nics), static_cast<uint64_t>(facts.nicRate)));
}

/// A device that takes part has a role before or after, and one NIC at most.
int64_t Checker::rateOfNics(int64_t nics, bool inside) const {
  int64_t devices = capacityInside(inside);
  for (size_t number = 0; number != columns.size(); ++number)
    if (isInside[number] == inside)
      devices += columns[number].holders;
  return rateOf(0, std::min(nics, devices));
}

int64_t Checker::countRate() const {
  if (!bound.isOfNodes) {
    const int64_t devices = capacityInside(true);
    int64_t nics = 0, link = 0;
    for (size_t node = 0; node != usable.size(); ++node) {
      if (usable.size() > 1 && usable[node] > 0)
        nics += std::min(facts.nics, facts.nodes[node]);
      if (facts.nodes[node] > 1)
        link = facts.linkRate;
    }
    return rateOf(link > 0 ? devices : 0, std::min(nics, devices));
  }
  const bool isInto = bound.witness != Witness::others;
  std::vector<int64_t> nics;
  for (size_t number = 0; number != columns.size(); ++number) {
    const Column &column = columns[number];
    const auto &its = isInto ? column.usableNics : column.nics;
    if (isInside[number] == isInto)
      nics.insert(nics.end(), its.begin(), its.end());
  }
  std::ranges::sort(nics, std::greater<>());
  if (isInto)
    nics.resize(std::min<size_t>(nics.size(), place.countMostNodes()));
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
      if (std::ranges::none_of(who.second, [&](int64_t role) {
            return columns[number].roles.count(role) != 0;
          }))
        lacking[number] += bytes;
  }
}

/// The most ranks of these roles that can be in one cell.
int64_t Checker::countTogether(const Roles &roles) const {
  if (!bound.isOfNodes)
    return 1;
  int64_t most = *std::ranges::max_element(usable);
  if (place.areGroupsWhole()) {
    const int64_t tp = facts.tensorParallel;
    int64_t ofGroup = 0;
    auto isOf = [&](int64_t it) {
      return std::ranges::binary_search(roles, it);
    };
    for (int64_t first = 0; first < world(); first += tp) {
      const auto group = std::span(facts.currRole).subspan(first, tp);
      ofGroup = std::max<int64_t>(ofGroup, std::ranges::count_if(group, isOf));
    }
    most = most / tp * ofGroup;
  }
  return std::min<int64_t>(most, roles.size() * facts.replicas);
}

/// What no column inside holds, at least.
int64_t Checker::lackedInside(const std::vector<int64_t> &lacking,
                              int64_t all) const {
  int64_t rest = all;
  for (size_t number = 0; number != columns.size(); ++number)
    if (isInside[number])
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
  std::vector<int64_t> held;
  for (size_t number = 0; number != columns.size(); ++number)
    held.insert(held.end(), columns[number].usableNics.size(), heldBy(number));
  std::ranges::sort(held, std::greater<>());
  int64_t bytes = 0;
  for (const auto &[roles, content] : contents)
    bytes += content.first;
  held.resize(place.countMostNodes());
  for (int64_t part : held)
    bytes -= part;
  return bytes;
}

Portion Checker::portionOf(int64_t role) const {
  Portion portion;
  portion.found.resize(columns.size());
  for (const auto &[roles, content] : contents) {
    if (!std::ranges::binary_search(roles, role))
      continue;
    const auto &[all, lacking] = content;
    if (bound.witness == Witness::others) {
      const int64_t ranks = roles.size() * facts.replicas;
      portion.all +=
          lackedInside(lacking, all) / std::min(ranks, capacityInside(true));
      continue;
    }
    const int64_t share = countTogether(roles);
    portion.all += all / share;
    for (size_t number = 0; number != columns.size(); ++number)
      portion.found[number] += all / share - lacking[number] / share;
  }
  for (size_t number = 0; number < columns.size(); ++number)
    if (!isInside[number])
      portion.found[number] = portion.all;
  return portion;
}

//===----------------------------------------------------------------------===//
// The rule
//===----------------------------------------------------------------------===//

Flaw Checker::checkScope() const {
  if (bound.witness != Witness::each && !bound.isOfNodes)
    return "counts NICs of nodes, but is about devices";
  if (bound.isOfNodes && usable.size() < 2)
    return "is about a single node";
  if (std::accumulate(usable.begin(), usable.end(), int64_t{0}) < world())
    return "is about more ranks than devices may take";
  if (facts.currRoles > kMostPairs / static_cast<int64_t>(columns.size()))
    return text("is about more than ", kMostPairs,
                " pairs of a role and a column");
  const bool hasDuals = bound.witness != Witness::fewest;
  const size_t rows = hasDuals ? facts.currRoles : 0,
               duals = hasDuals ? columns.size() : 0;
  if (bound.u.size() != rows)
    return text("has ", bound.u.size(), " values of u, expected ", rows);
  if (bound.v.size() != duals)
    return text("has ", bound.v.size(), " values of v, expected ", duals);
  return std::nullopt;
}

/// All cells that may take a role and hold the same are inside, or none is.
Flaw Checker::readInside() {
  const std::string noun = bound.isOfNodes ? "node " : "device ";
  std::vector<bool> listed(columnOf.size());
  for (int64_t cell : bound.inside) {
    if (cell >= static_cast<int64_t>(columnOf.size()))
      return text("is about ", noun, cell, ", there are ", columnOf.size());
    listed[cell] = true;
    isInside[columnOf[cell]] = true;
  }
  const bool isFewest = bound.witness == Witness::fewest;
  for (unsigned cell = 0; cell < columnOf.size(); ++cell) {
    const bool isUsable =
        bound.isOfNodes ? usable[cell] > 0 : facts.canTakeRole[cell];
    if (isUsable == listed[cell] ||
        (isUsable && !isFewest && !isInside[columnOf[cell]]))
      continue;
    return text(
        (isUsable ? "leaves out " : "is about "), noun, cell,
        (isUsable ? ", which may take roles" : ", which takes no role"));
  }
  return std::nullopt;
}

Flaw Checker::checkDuals() const {
  const auto &u = bound.u, &v = bound.v;
  auto isNegative = [](int64_t dual) { return dual < 0; };
  if (std::ranges::any_of(u, isNegative) || std::ranges::any_of(v, isNegative))
    return "has a dual below 0";
  __int128 bytes = 0;
  for (int64_t role = 0; role < facts.currRoles; ++role) {
    const Portion portion = portionOf(role);
    bytes += static_cast<__int128>(portion.all - u[role]) * facts.replicas;
    for (size_t number = 0; number != columns.size(); ++number)
      if (columns[number].capacity > 0 &&
          static_cast<__int128>(u[role]) + v[number] < portion.found[number])
        return text("proves nothing: u[", role, "] + v[", number,
                    "] is less than the ", portion.found[number],
                    " bytes that role ", role, " finds on column ", number);
  }
  for (size_t number = 0; number != columns.size(); ++number) {
    const int64_t capacity = columns[number].capacity;
    if (capacity == 0 && v[number] != 0)
      return "has a dual of a column that takes no roles";
    bytes -= static_cast<__int128>(capacity) * v[number];
  }
  if (bytes == static_cast<__int128>(bound.bytes))
    return std::nullopt;
  return text("states ", bound.bytes, " bytes, its duals prove ",
              (bytes > 0 && bytes < INT64_MAX
                   ? std::to_string(static_cast<int64_t>(bytes))
                   : "no such number"));
}

Flaw Checker::checkBytes() const {
  if (bound.witness != Witness::fewest)
    return checkDuals();
  const int64_t bytes = countFewest();
  if (bytes == bound.bytes)
    return std::nullopt;
  return text("states ", bound.bytes, " bytes, no fewer than ", bytes,
              " have to arrive");
}

Flaw Checker::run() {
  if (Flaw flaw = checkScope())
    return flaw;
  if (Flaw flaw = readInside())
    return flaw;
  if (const int64_t rate = countRate(); rate != bound.rate)
    return text("states a rate of ", bound.rate, " bytes a second, ", rate,
                " can arrive");
  readContents();
  return checkBytes();
}

Flaw etc::findFlaw(const RoleBoundFacts &facts, const StatedRoleBound &bound) {
  return Checker(facts, bound).run();
}
