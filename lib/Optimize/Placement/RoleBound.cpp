// A time that no assignment of roles is below.
//
// Of some columns, every assignment brings at least so many bytes to their
// cells: an assignment problem again, since what a role lacks on a cell, each
// byte divided among the ranks that can share it, adds up over roles.

#include "etc/Optimize/Placement/RoleBound.h"

#include "etc/Optimize/Assignment/Solver.h"

#include <algorithm>
#include <numeric>

namespace etc::placement {

namespace {
using Columns = std::vector<int64_t>;

/// The bounds of one problem.
class RoleBounds {
public:
  explicit RoleBounds(const RoleTimes &times) : times(times) {}

  std::vector<Columns> listCandidates() const;
  std::optional<RoleBound> solve(const Columns &inside,
                                 RoleWitness witness) const;
  std::optional<RoleBound> countFewest() const;

private:
  int64_t heldBy(int64_t column) const;
  int64_t capacityOf(const Columns &columns) const;
  Columns outside(const Columns &inside) const;
  int64_t rateInto(const Columns &inside) const;
  int64_t rateOutOf(const Columns &columns) const;
  int64_t rateOfNics(int64_t nics, const Columns &columns) const;
  int64_t countLacking(const RoleContent &content, const Columns &inside) const;
  std::vector<int64_t> countOthers(const Columns &inside) const;
  assignment::Problem pose(const Columns &inside, RoleWitness witness,
                           std::vector<int64_t> &counted) const;

  const RoleTimes &times;
};
} // namespace

bool isLess(const RoleBound &a, const RoleBound &b) {
  return static_cast<__int128>(a.bytes) * b.rate <
         static_cast<__int128>(b.bytes) * a.rate;
}

//===----------------------------------------------------------------------===//
// Rates
//===----------------------------------------------------------------------===//

int64_t RoleBounds::capacityOf(const Columns &columns) const {
  int64_t devices = 0;
  for (int64_t column : columns)
    devices += times.columns[column].capacity;
  return std::min(devices, times.rows * times.replicas);
}

Columns RoleBounds::outside(const Columns &inside) const {
  Columns all(times.columns.size()), rest;
  std::iota(all.begin(), all.end(), 0);
  std::set_difference(all.begin(), all.end(), inside.begin(), inside.end(),
                      std::back_inserter(rest));
  return rest;
}

/// Those that take part have a role before or after, and a NIC at most.
int64_t RoleBounds::rateOfNics(int64_t nics, const Columns &columns) const {
  int64_t devices = capacityOf(columns);
  for (int64_t column : columns)
    devices += times.columns[column].holders;
  return std::min(nics, devices) * times.nicRate;
}

/// Roles can be on so many cells only: those with the most NICs.
int64_t RoleBounds::rateInto(const Columns &inside) const {
  if (times.ofDevices) {
    const int64_t devices = capacityOf(inside);
    return devices * times.linkRate +
           std::min(times.nics, devices) * times.nicRate;
  }
  std::vector<int64_t> nics;
  for (int64_t column : inside)
    for (const Cell &cell : times.columns[column].cells)
      if (cell.isUsable)
        nics.push_back(cell.nics);
  std::sort(nics.rbegin(), nics.rend());
  nics.resize(std::min<size_t>(nics.size(), times.mostCells));
  return rateOfNics(std::accumulate(nics.begin(), nics.end(), int64_t{0}),
                    inside);
}

int64_t RoleBounds::rateOutOf(const Columns &columns) const {
  int64_t nics = 0;
  for (int64_t column : columns)
    for (const Cell &cell : times.columns[column].cells)
      nics += cell.nics;
  return rateOfNics(nics, columns);
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

int64_t RoleBounds::heldBy(int64_t column) const {
  int64_t bytes = 0;
  for (const RoleContent &content : times.contents)
    bytes += content.bytes - content.lacking[column];
  return bytes;
}

/// What none of the columns holds, at least.
int64_t RoleBounds::countLacking(const RoleContent &content,
                                 const Columns &inside) const {
  int64_t bytes = content.bytes;
  for (int64_t column : inside)
    bytes -= content.bytes - content.lacking[column];
  return std::max<int64_t>(0, bytes);
}

std::vector<int64_t> RoleBounds::countOthers(const Columns &inside) const {
  const int64_t room = capacityOf(inside);
  std::vector<int64_t> counted(times.rows);
  for (const RoleContent &content : times.contents)
    for (int32_t row : content.rows)
      counted[row] +=
          countLacking(content, inside) / std::min(content.ranks, room);
  return counted;
}

/// A column for each inside, and one for all others, where nothing is lacking.
assignment::Problem RoleBounds::pose(const Columns &inside, RoleWitness witness,
                                     std::vector<int64_t> &counted) const {
  assignment::Problem problem;
  problem.supply.assign(times.rows, times.replicas);
  for (int64_t column : inside)
    problem.capacity.push_back(times.columns[column].capacity);
  problem.capacity.push_back(0);
  for (int64_t column : outside(inside))
    problem.capacity.back() += times.columns[column].capacity;
  std::vector<std::vector<int64_t>> found(times.rows,
                                          std::vector<int64_t>(inside.size()));
  if (witness == RoleWitness::Others)
    counted = countOthers(inside);
  else
    for (const RoleContent &content : times.contents)
      for (int32_t row : content.rows) {
        const int64_t all = content.bytes / content.together;
        counted[row] += all;
        for (size_t i = 0; i < inside.size(); ++i)
          found[row][i] += all - content.lacking[inside[i]] / content.together;
      }
  const auto rest = static_cast<int32_t>(inside.size());
  for (int32_t row = 0; row < times.rows; ++row) {
    for (int32_t i = 0; i < rest; ++i)
      if (found[row][i] > 0 && problem.capacity[i] > 0)
        problem.edges.push_back({row, i, {0, found[row][i]}});
    if (counted[row] > 0 && problem.capacity[rest] > 0)
      problem.edges.push_back({row, rest, {0, counted[row]}});
  }
  return problem;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// Columns that can take roles, from those that hold least: those that hold
/// nothing, half of all, and all.
std::vector<Columns> RoleBounds::listCandidates() const {
  std::vector<std::pair<int64_t, int64_t>> byHeld;
  for (size_t column = 0; column < times.columns.size(); ++column)
    if (times.columns[column].capacity > 0)
      byHeld.emplace_back(heldBy(column), column);
  std::sort(byHeld.begin(), byHeld.end());
  const size_t fresh = std::count_if(byHeld.begin(), byHeld.end(),
                                     [](auto it) { return it.first == 0; });
  std::vector<Columns> candidates;
  size_t last = 0;
  for (size_t count : {fresh, (byHeld.size() + 1) / 2, byHeld.size()}) {
    if (count <= last)
      continue;
    last = count;
    Columns &inside = candidates.emplace_back();
    for (size_t i = 0; i < count; ++i)
      inside.push_back(byHeld[i].second);
    std::sort(inside.begin(), inside.end());
  }
  return candidates;
}

std::optional<RoleBound> RoleBounds::solve(const Columns &inside,
                                           RoleWitness witness) const {
  const int64_t rate = witness == RoleWitness::Others
                           ? rateOutOf(outside(inside))
                           : rateInto(inside);
  if (rate == 0)
    return std::nullopt;
  std::vector<int64_t> counted(times.rows);
  const assignment::Problem problem = pose(inside, witness, counted);
  if (assignment::check(problem))
    return std::nullopt;
  const assignment::Solution solution = assignment::solve(problem);
  RoleBound bound{witness, inside, {}, {}, -solution.total.device, rate};
  for (int64_t row = 0; row < times.rows; ++row) {
    bound.bytes += times.replicas * counted[row];
    bound.u.push_back(solution.u[row].device);
  }
  for (const CellColumn &column : times.columns)
    bound.v.push_back(column.capacity > 0 ? solution.v.back().device : 0);
  for (size_t i = 0; i < inside.size(); ++i)
    bound.v[inside[i]] = solution.v[i].device;
  if (bound.bytes <= 0)
    return std::nullopt;
  return bound;
}

/// Of all bytes, those that the cells which hold most do not hold.
std::optional<RoleBound> RoleBounds::countFewest() const {
  RoleBound bound{RoleWitness::Fewest, {}, {}, {}, 0, 0};
  std::vector<int64_t> held;
  for (size_t column = 0; column < times.columns.size(); ++column) {
    if (times.columns[column].capacity == 0)
      continue;
    bound.inside.push_back(column);
    for (const Cell &cell : times.columns[column].cells)
      if (cell.isUsable)
        held.push_back(heldBy(column));
  }
  std::sort(held.rbegin(), held.rend());
  held.resize(std::min<size_t>(held.size(), times.mostCells));
  for (const RoleContent &content : times.contents)
    bound.bytes += content.bytes;
  bound.bytes -= std::accumulate(held.begin(), held.end(), int64_t{0});
  bound.rate = rateInto(bound.inside);
  if (bound.bytes <= 0 || bound.rate == 0)
    return std::nullopt;
  return bound;
}

std::optional<RoleBound> findRoleBound(const RoleTimes &times) {
  const RoleBounds bounds(times);
  std::optional<RoleBound> best;
  const auto take = [&](std::optional<RoleBound> bound) {
    if (bound && (!best || isLess(*best, *bound)))
      best = std::move(bound);
  };
  for (const Columns &inside : bounds.listCandidates()) {
    take(bounds.solve(inside, RoleWitness::Each));
    if (!times.ofDevices)
      take(bounds.solve(inside, RoleWitness::Others));
  }
  if (!times.ofDevices)
    take(bounds.countFewest());
  return best;
}

} // namespace etc::placement
