// List scheduling: each round takes what fits, the flow that is furthest behind
// first.

#include "Ledger.h"
#include "etc/Optimize/Rounds/Solver.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>

namespace etc::rounds {
namespace {

__extension__ using Int128 = __int128;

/// Bytes that a unit touches at all: its share of its flow.
int64_t weightOf(const Unit &unit) {
  int64_t bytes = 0;
  for (const Touch &touch : unit.touches)
    bytes += touch.allocated + touch.released + touch.sent + touch.received;
  return bytes;
}

/// Of every unit, the first chunk of its tensor. One that waits for another
/// flow where the chunk before it does not is no part of these: it would hold
/// them up.
std::vector<size_t> findFirsts(const std::vector<Unit> &units) {
  std::vector<size_t> firsts;
  firsts.reserve(units.size());
  for (const Unit &unit : units) {
    const bool goesOn =
        unit.before >= 0 &&
        (unit.after < 0 || units[size_t(unit.before)].after >= 0);
    firsts.push_back(goesOn ? firsts[size_t(unit.before)] : firsts.size());
  }
  return firsts;
}

/// Which classes units touch, and how: by class, ascending.
using Touches = std::vector<std::pair<int32_t, int>>;

void addTouches(const Unit &unit, Touches &touches) {
  for (const Touch &touch : unit.touches) {
    const int kinds = (touch.allocated > 0) * 8 + (touch.released > 0) * 4 +
                      (touch.sent > 0) * 2 + (touch.received > 0);
    auto it = std::lower_bound(touches.begin(), touches.end(),
                               std::pair(touch.deviceClass, 0));
    if (it == touches.end() || it->first != touch.deviceClass)
      it = touches.insert(it, {touch.deviceClass, 0});
    it->second |= kinds;
  }
}

/// The flow of every unit: tensors whose first chunks do the same to the same
/// classes. What is there before deferred units comes in its own order, so
/// there tensors are in a flow for what all of their chunks do, cut or whole.
std::vector<size_t> findFlows(const std::vector<Unit> &units) {
  const std::vector<size_t> firsts = findFirsts(units);
  const bool isOrdered =
      std::any_of(units.begin(), units.end(),
                  [](const Unit &unit) { return unit.isDeferred; });
  std::vector<Touches> touches(units.size());
  for (size_t i = 0; i < units.size(); ++i)
    if (firsts[i] == i || (isOrdered && !units[i].isDeferred))
      addTouches(units[i], touches[firsts[i]]);
  std::map<std::pair<Touches, bool>, size_t> numbers;
  std::vector<size_t> flows;
  flows.reserve(units.size());
  for (size_t i = 0; i < units.size(); ++i)
    flows.push_back(firsts[i] != i ? flows[firsts[i]]
                                   : numbers
                                         .try_emplace({std::move(touches[i]),
                                                       units[i].isDeferred},
                                                      numbers.size())
                                         .first->second);
  return flows;
}

/// For every unit, the share of its flow that is done when half of it is.
std::vector<int64_t> findShares(const std::vector<Unit> &units,
                                const std::vector<size_t> &flowOf) {
  constexpr int64_t scale = int64_t(1) << 40;
  std::vector<Int128> total(units.size()), done(units.size());
  std::vector<int64_t> weights, shares;
  weights.reserve(units.size());
  shares.reserve(units.size());
  for (size_t i = 0; i < units.size(); ++i)
    total[flowOf[i]] += weights.emplace_back(weightOf(units[i]));
  for (size_t i = 0; i < units.size(); ++i) {
    const size_t flow = flowOf[i];
    shares.push_back(total[flow]
                         ? static_cast<int64_t>((2 * done[flow] + weights[i]) *
                                                scale / (2 * total[flow]))
                         : 0);
    done[flow] += weights[i];
  }
  return shares;
}

class Scheduler {
public:
  explicit Scheduler(const Problem &problem);
  /// Nothing where a round would be forced that must not be.
  std::optional<Solution> run(bool mayForce);

private:
  bool isTaken(size_t unit) const { return solution.roundOf[unit] >= 0; }
  bool isReady(size_t unit) const;
  void take(size_t unit);
  void fillRound();
  void takeLeastOverflow();
  /// The next unit of a flow that is not taken, or nothing.
  std::optional<size_t> head(size_t flow);

  const std::vector<Unit> &units;
  Ledger ledger;
  Solution solution;
  std::vector<int64_t> shareOf; ///< [units]
  struct Flow {
    std::vector<size_t> units; ///< in order
    size_t next = 0;           ///< all before it are taken
  };
  std::vector<Flow> flows;
  size_t taken = 0;
  bool isTail = false;
  size_t urgent = 0; ///< units that are not deferred
};

Scheduler::Scheduler(const Problem &problem)
    : units(problem.units), ledger(problem) {
  const std::vector<size_t> flowOf = findFlows(units);
  shareOf = findShares(units, flowOf);
  for (size_t i = 0; i < flowOf.size(); ++i) {
    if (flowOf[i] >= flows.size())
      flows.resize(flowOf[i] + 1);
    flows[flowOf[i]].units.push_back(i);
  }
  solution.roundOf.assign(units.size(), -1);
  urgent = size_t(std::count_if(units.begin(), units.end(),
                                [](const Unit &it) { return !it.isDeferred; }));
}

bool Scheduler::isReady(size_t unit) const {
  const int32_t before = units[unit].before, after = units[unit].after;
  if (units[unit].isDeferred && !isTail)
    return false;
  return (before < 0 || isTaken(size_t(before))) &&
         (after < 0 || (isTaken(size_t(after)) &&
                        solution.roundOf[size_t(after)] < solution.rounds));
}

void Scheduler::take(size_t unit) {
  ledger.take(units[unit]);
  solution.roundOf[unit] = solution.rounds;
  ++taken;
}

std::optional<size_t> Scheduler::head(size_t flow) {
  auto &[list, next] = flows[flow];
  while (next < list.size() && isTaken(list[next]))
    ++next;
  return next < list.size() ? std::optional(list[next]) : std::nullopt;
}

/// Takes what fits, the flow that is furthest behind first. A unit that does
/// not fit holds up those of its flow that come after it.
void Scheduler::fillRound() {
  using Candidate = std::tuple<int64_t, size_t, size_t>; // share, unit, flow
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heads;
  auto push = [&](size_t flow) {
    if (const std::optional<size_t> unit = head(flow))
      heads.emplace(shareOf[*unit], *unit, flow);
  };
  for (size_t flow = 0; flow < flows.size(); ++flow)
    push(flow);
  while (!heads.empty()) {
    const auto [share, unit, flow] = heads.top();
    heads.pop();
    if (!isReady(unit) || !ledger.fits(units[unit]))
      continue;
    take(unit);
    push(flow);
  }
}

void Scheduler::takeLeastOverflow() {
  std::optional<std::pair<int64_t, size_t>> best;
  for (const Flow &flow : flows)
    for (size_t i = flow.next; i < flow.units.size(); ++i) {
      const size_t unit = flow.units[i];
      if (isTaken(unit) || !isReady(unit))
        continue;
      const std::pair candidate(ledger.overflow(units[unit]), unit);
      if (!best || candidate < *best)
        best = candidate;
    }
  take(best->second);
}

std::optional<Solution> Scheduler::run(bool mayForce) {
  while (taken < units.size()) {
    if (!isTail && taken == urgent) {
      isTail = true;
      ledger.beginTail();
    }
    const size_t before = taken;
    fillRound();
    if (taken == before) {
      if (!mayForce)
        return std::nullopt;
      takeLeastOverflow();
      ++solution.forced;
      fillRound();
    }
    ledger.closeRound();
    ++solution.rounds;
  }
  ledger.finish(solution);
  return std::move(solution);
}

} // namespace

Solution solveList(const Problem &problem) {
  return *Scheduler(problem).run(/*mayForce=*/true);
}

std::optional<Solution> solveUnforced(const Problem &problem) {
  return Scheduler(problem).run(/*mayForce=*/false);
}

} // namespace etc::rounds
