// What a memory budget leaves for each class of devices, and the search for a
// schedule that keeps it.

#ifndef ETC_OPTIMIZE_ROUNDS_BUDGET_H
#define ETC_OPTIMIZE_ROUNDS_BUDGET_H

#include "etc/Optimize/Rounds/Solution.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace etc::rounds {

/// What live bytes of a device must stay below: bytes, or parts per million of
/// the larger of its two states.
struct Budget {
  bool isRatio;
  int64_t amount;

  int64_t limitOf(int64_t maxState) const;
  /// As a request writes it: "1.05x", or "4096 bytes".
  std::string str() const;
};

/// All that a device of a class does in a migration, in bytes.
struct ClassTotals {
  int64_t prev = 0, curr = 0; ///< state
  int64_t sent = 0, received = 0;
  /// Whether it both takes and gives memory.
  bool turnsOver = false;
  /// What else is there in deferred rounds. A budget in bytes is of all, a
  /// ratio is of state and staging alone.
  int64_t beside = 0;
};

/// What a class has of its device at most, as the budget counts it.
int64_t peakOf(const Budget &budget, const Solution &solution,
               std::span<const ClassTotals> totals, size_t index);

/// The memory of every class. Staging gets `eighths` / 8 of what the budget
/// leaves above the larger state, split over both directions by what the class
/// sends and receives. No slab is much larger than a `portions`-th of what
/// passes through it in all.
std::vector<ClassMemory> shareMemory(const Budget &budget,
                                     std::span<const ClassTotals> totals,
                                     int64_t eighths, int64_t portions = 1);

/// No slab of shareMemory is wider, whatever the budget and the eighths are,
/// where `bytes` pass through it in at least two portions and a device has
/// `state`.
int64_t findWidestSlab(int64_t bytes, int64_t state, int64_t portions);

/// Into how many chunks a tensor is cut, so that no class sends or receives
/// more than one part of its slab in one: the more parts, the better rounds
/// fill, and the smaller messages are.
int64_t countChunks(int64_t bytes, int64_t slab, int64_t parts);

/// What falls on one round of something that all do together, where the class
/// that needs most rounds fills its slabs in each.
int64_t shareOfRound(int64_t whole, std::span<const ClassTotals> totals,
                     std::span<const ClassMemory> memory);

/// The least budget that a schedule keeps, in bytes where `like` is: ratios are
/// rounded up to the next thousandth.
Budget keptBy(const Solution &solution, std::span<const ClassTotals> totals,
              const Budget &like);

/// How tensors are cut into units depends on the slabs: makes the problem for
/// some memory.
using Pose = std::function<Problem(std::vector<ClassMemory>)>;

struct Found {
  std::vector<ClassMemory> memory; ///< of the problem that was solved
  Solution solution;               ///< by solveList
  bool isWithin;                   ///< whether all peaks are within the budget
};

/// What the searches try, the widest first: several shares of what the budget
/// leaves. Where portions are small, several leave the same.
std::vector<std::vector<ClassMemory>>
listStagings(const Budget &budget, std::span<const ClassTotals> totals,
             int64_t portions);

/// A schedule whose peaks are within the budget, of few rounds, or, where none
/// is found, the one with the least peak. Tries several stagings, the widest
/// first. A schedule that was made for another budget is as good: what is tried
/// besides does not depend on the budget, so what fits a tight one also fits a
/// loose one, and a budget that `keptBy` names is met when it is asked for.
/// `portions` is as in shareMemory: rounds are not fewer than what is sent on
/// needs to progress as a pipeline, however much memory there is.
Found findWithin(const Budget &budget, std::span<const ClassTotals> totals,
                 const Pose &pose, int64_t portions = 1);

/// The same without schedules that were made for other budgets, which are many
/// searches. It may miss a budget that findWithin keeps, so it is for trials,
/// where there is a schedule already.
Found findStaging(const Budget &budget, std::span<const ClassTotals> totals,
                  const Pose &pose, int64_t portions);

/// The portions in which a chain of `hops` takes least time: a pipeline of K
/// portions takes (K + hops) / K of the time of its bytes, and a round for
/// each. `bytes` are those of the busiest class, `rate` what it sends in a
/// second, `nanoseconds` what a round costs. At most 40 for each hop, which
/// leaves a fortieth.
int64_t countPortions(int64_t bytes, int64_t rate, int64_t nanoseconds,
                      int64_t hops);

} // namespace etc::rounds

#endif // ETC_OPTIMIZE_ROUNDS_BUDGET_H
