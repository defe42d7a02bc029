// The fewest rounds, by breadth-first search over the sets of units that are
// done.

#include "Ledger.h"
#include "etc/Optimize/Rounds/Solver.h"

#include <cassert>
#include <utility>

namespace etc::rounds {
namespace {

/// A set of units: bit i is unit i.
using Set = uint32_t;

class Search {
public:
  explicit Search(const Problem &problem);
  std::optional<Solution> run();

private:
  bool contains(Set set, int32_t unit) const {
    return unit < 0 || (set >> unit & 1);
  }
  /// Whether `round` can follow when the units of `done` are.
  bool isAllowed(Set done, Set round) const;
  bool isInOrder(Set done, Set round) const;
  bool keepsLimits(Set done, Set round) const;
  bool keepsRoundTime(Set round) const;
  Touch &sumOf(Set set, size_t index) {
    return sums[set * problem.classes.size() + index];
  }
  const Touch &sumOf(Set set, size_t index) const {
    return sums[set * problem.classes.size() + index];
  }
  void addSums(Set set);
  Solution trace() const;

  const Problem &problem;
  const Set all;
  Set deferred = 0;
  std::vector<Touch> sums; ///< [sets][classes]
  /// The last round of the fewest that lead to a set; 0 where none is known.
  std::vector<Set> lastRound; ///< [sets]
};

Search::Search(const Problem &problem)
    : problem(problem), all((Set(1) << problem.units.size()) - 1),
      sums((size_t(all) + 1) * problem.classes.size()),
      lastRound(size_t(all) + 1) {
  for (size_t i = 0; i < problem.units.size(); ++i)
    deferred |= Set(problem.units[i].isDeferred) << i;
  for (Set set = 1; set <= all; ++set)
    addSums(set);
}

/// The sums of a set are those without its lowest unit, and that unit's.
void Search::addSums(Set set) {
  const Set rest = set & (set - 1);
  size_t unit = 0;
  while (!(set >> unit & 1))
    ++unit;
  for (size_t index = 0; index < problem.classes.size(); ++index)
    sumOf(set, index) = sumOf(rest, index);
  for (const Touch &touch : problem.units[unit].touches) {
    Touch &sum = sumOf(set, size_t(touch.deviceClass));
    sum.allocated += touch.allocated;
    sum.released += touch.released;
    sum.sent += touch.sent;
    sum.received += touch.received;
  }
}

bool Search::isInOrder(Set done, Set round) const {
  if ((round & deferred) && (all & ~deferred & ~done))
    return false;
  for (size_t i = 0; i < problem.units.size(); ++i) {
    const Unit &unit = problem.units[i];
    if ((round >> i & 1) &&
        (!contains(done | round, unit.before) || !contains(done, unit.after)))
      return false;
  }
  return true;
}

bool Search::keepsLimits(Set done, Set round) const {
  for (size_t index = 0; index < problem.classes.size(); ++index) {
    const ClassMemory &memory = problem.classes[index];
    const Touch &before = sumOf(done, index), &now = sumOf(round, index);
    const int64_t live =
        memory.prev + before.allocated - before.released + now.allocated;
    if (now.sent > memory.sendSlab || now.received > memory.recvSlab ||
        (now.allocated > 0 && live + (round & deferred ? memory.beside : 0) +
                                      memory.sendSlab + memory.recvSlab >
                                  memory.limit))
      return false;
  }
  return true;
}

bool Search::keepsRoundTime(Set round) const {
  std::vector<int64_t> occupied(size_t(problem.ports));
  for (size_t i = 0; i < problem.units.size(); ++i)
    for (const Load &load : problem.units[i].loads) {
      int64_t &time = occupied[size_t(load.port)];
      if (!(round >> i & 1) || load.time == 0)
        continue;
      if (time > 0 && time + load.time > problem.roundTime)
        return false;
      time += load.time;
    }
  return true;
}

bool Search::isAllowed(Set done, Set round) const {
  return isInOrder(done, round) && keepsLimits(done, round) &&
         keepsRoundTime(round);
}

Solution Search::trace() const {
  std::vector<Set> rounds; // last one first
  for (Set done = all; done; done ^= rounds.back())
    rounds.push_back(lastRound[done]);
  Solution solution;
  solution.rounds = int32_t(rounds.size());
  solution.roundOf.resize(problem.units.size());
  Ledger ledger(problem);
  bool isTail = false;
  for (int32_t round = 0; round < solution.rounds; ++round) {
    const Set set = rounds[rounds.size() - 1 - size_t(round)];
    if ((set & deferred) && !std::exchange(isTail, true))
      ledger.beginTail();
    for (size_t i = 0; i < problem.units.size(); ++i)
      if (set >> i & 1) {
        ledger.take(problem.units[i]);
        solution.roundOf[i] = round;
      }
    ledger.closeRound();
  }
  ledger.finish(solution);
  return solution;
}

std::optional<Solution> Search::run() {
  std::vector<Set> reached = {0};
  while (!reached.empty() && !(all && lastRound[all])) {
    std::vector<Set> next;
    for (const Set done : reached) {
      const Set open = all & ~done;
      for (Set round = open; round; round = (round - 1) & open)
        if (!lastRound[done | round] && isAllowed(done, round)) {
          lastRound[done | round] = round;
          next.push_back(done | round);
        }
    }
    reached = std::move(next);
  }
  if (all && !lastRound[all])
    return std::nullopt;
  return trace();
}

} // namespace

std::optional<Solution> solveExact(const Problem &problem) {
  assert(problem.units.size() <= 16 && "takes time in 3^units");
  return Search(problem).run();
}

} // namespace etc::rounds
