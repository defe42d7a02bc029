// List scheduling: each round takes what fits, the flow that is furthest behind
// first.

#include "List.h"

#include "Heads.h"
#include "Ledger.h"
#include "OpenUnits.h"
#include "etc/Optimize/Rounds/Solver.h"

#include <algorithm>
#include <utility>

namespace etc::rounds {
namespace {

class Scheduler {
public:
  Scheduler(const Problem &problem, const UnitFlows &of);
  std::optional<Solution> run(const Force &force);

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
  const std::vector<int64_t> &shareOf; ///< [units]
  struct Flow {
    std::vector<size_t> units; ///< in order
    size_t next = 0;           ///< all before it are taken
  };
  std::vector<Flow> flows;
  Heads heads;    ///< of flows
  OpenUnits open; ///< once a round is forced
  size_t taken = 0;
  bool isTail = false;
  size_t urgent = 0; ///< units that are not deferred
};

Scheduler::Scheduler(const Problem &problem, const UnitFlows &of)
    : units(problem.units), ledger(problem), shareOf(of.shares) {
  for (size_t i = 0; i < of.flows.size(); ++i) {
    if (of.flows[i] >= flows.size())
      flows.resize(of.flows[i] + 1);
    flows[of.flows[i]].units.push_back(i);
  }
  std::vector<Head> all;
  all.reserve(flows.size());
  for (size_t i = 0; i < flows.size(); ++i)
    all.push_back({shareOf[flows[i].units.front()], flows[i].units.front(), i});
  heads = Heads(std::move(all));
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
  if (!open.isEmpty())
    open.take(unit);
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
  while (!heads.empty()) {
    const auto [share, unit, flow] = heads.first();
    // One that was forced is taken already.
    if (!isTaken(unit)) {
      if (!isReady(unit) || !ledger.fits(units[unit])) {
        heads.holdUpFirst();
        continue;
      }
      take(unit);
    }
    if (const std::optional<size_t> next = head(flow))
      heads.replaceFirst({shareOf[*next], *next, flow});
    else
      heads.removeFirst();
  }
  heads.openRound();
}

void Scheduler::takeLeastOverflow() {
  if (open.isEmpty())
    open.fill(units, solution.roundOf, isTail);
  take(open.findLeastOverflow(ledger));
}

std::optional<Solution> Scheduler::run(const Force &force) {
  while (taken < units.size()) {
    if (!isTail && taken == urgent) {
      isTail = true;
      open = {};
      ledger.beginTail();
    }
    const size_t before = taken;
    fillRound();
    if (taken == before) {
      if (!force.isAllowed)
        return std::nullopt;
      takeLeastOverflow();
      ++solution.forced;
      fillRound();
    }
    ledger.closeRound();
    ++solution.rounds;
    if (solution.forced > 0 && (solution.rounds > force.mostRounds ||
                                !ledger.isWithin(force.mostPeaks)))
      return std::nullopt;
  }
  ledger.finish(solution);
  return std::move(solution);
}

} // namespace

std::optional<Solution> schedule(const Problem &problem, const UnitFlows &flows,
                                 const Force &force) {
  return Scheduler(problem, flows).run(force);
}

Solution solveList(const Problem &problem) {
  return *schedule(problem, findFlows(problem), {.isAllowed = true});
}

} // namespace etc::rounds
