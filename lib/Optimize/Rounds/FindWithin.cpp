// The search for a schedule that keeps a budget: several stagings, then other
// budgets.

#include "List.h"
#include "Ratio.h"
#include "etc/Optimize/Rounds/Solver.h"

#include <algorithm>
#include <limits>

namespace etc::rounds {

__extension__ using Int128 = __int128;

int64_t worstRatio(const Solution &solution,
                   std::span<const ClassTotals> totals) {
  int64_t worst = million;
  for (size_t i = 0; i < totals.size(); ++i)
    if (const int64_t state = std::max(totals[i].prev, totals[i].curr))
      worst = std::max(
          worst,
          int64_t((Int128(solution.peak[i]) * million + state - 1) / state));
  return worst;
}

namespace {

/// The eighths of the slack to try for staging. A device that both takes and
/// gives memory needs some of the slack itself, so all of it is the last
/// resort.
std::span<const int64_t> eighthsFor(std::span<const ClassTotals> totals) {
  static constexpr int64_t withTurnover[] = {7, 6, 4, 2, 8},
                           without[] = {8, 6, 4, 2};
  const bool turnsOver =
      std::any_of(totals.begin(), totals.end(),
                  [](const ClassTotals &it) { return it.turnsOver; });
  return turnsOver ? std::span<const int64_t>(withTurnover) : without;
}

/// Budgets that are tried where the one asked for is missed, in ppm.
constexpr int64_t ladder[] = {1010000, 1025000, 1050000, 1075000, 1100000,
                              1150000, 1200000, 1250000, 1300000, 1350000,
                              1400000, 1500000, 1750000, 2000000, 3000000};

class Search {
public:
  Search(std::span<const ClassTotals> totals, const Pose &pose,
         int64_t portions)
      : totals(totals), pose(pose), portions(portions) {}

  Found run(const Budget &budget) const;
  /// Where rounds are forced, those with a ratio above `mostRatio`, in ppm, are
  /// given up, if there is one: nothing if all are.
  std::optional<Found> chooseStaging(const Budget &budget,
                                     std::optional<int64_t> mostRatio) const;

private:
  struct Posed {
    Problem problem;
    UnitFlows flows;
  };
  bool isWithin(const Budget &budget, const Solution &solution) const;
  std::optional<Found> findUnforced(const Budget &budget,
                                    std::vector<Posed> &posed) const;
  std::vector<int64_t> limitPeaks(const Budget &budget) const;
  std::optional<Found> findForced(const Budget &budget,
                                  std::vector<Posed> posed,
                                  std::optional<int64_t> mostRatio) const;

  std::span<const ClassTotals> totals;
  const Pose &pose;
  const int64_t portions;
};

bool Search::isWithin(const Budget &budget, const Solution &solution) const {
  for (size_t i = 0; i < totals.size(); ++i)
    if (peakOf(budget, solution, totals, i) >
        budget.limitOf(std::max(totals[i].prev, totals[i].curr)))
      return false;
  return true;
}

/// The widest staging that keeps the budget throughout; or nothing, and all
/// problems.
std::optional<Found> Search::findUnforced(const Budget &budget,
                                          std::vector<Posed> &posed) const {
  for (std::vector<ClassMemory> &memory :
       listStagings(budget, totals, portions)) {
    Problem problem = pose(std::move(memory));
    UnitFlows flows = findFlows(problem);
    std::optional<Solution> solution =
        schedule(problem, flows, {.isAllowed = false});
    if (solution && isWithin(budget, *solution))
      return Found{std::move(problem.classes), std::move(*solution), true};
    posed.push_back({std::move(problem), std::move(flows)});
  }
  return std::nullopt;
}

/// What peaks are at most where a ratio is, or bytes are. What has no state has
/// no ratio.
std::vector<int64_t> Search::limitPeaks(const Budget &budget) const {
  std::vector<int64_t> peaks;
  peaks.reserve(totals.size());
  for (const ClassTotals &it : totals) {
    const int64_t state = std::max(it.prev, it.curr);
    peaks.push_back(budget.isRatio && state == 0
                        ? std::numeric_limits<int64_t>::max()
                        : budget.limitOf(state));
  }
  return peaks;
}

/// The fewest rounds of those whose peak is within the budget although a round
/// is forced, or else the least peak.
std::optional<Found>
Search::findForced(const Budget &budget, std::vector<Posed> posed,
                   std::optional<int64_t> mostRatio) const {
  std::optional<Found> best;
  std::pair<int64_t, int32_t> bestScore;
  // What is no better is given up as soon as that is seen.
  std::vector<int64_t> mostPeaks;
  Force force{.isAllowed = true};
  auto giveUpAbove = [&](Budget most) {
    if (mostRatio)
      most = {true, std::min(most.amount, *mostRatio)};
    mostPeaks = limitPeaks(most);
    force.mostPeaks = mostPeaks;
  };
  if (mostRatio)
    giveUpAbove({true, *mostRatio});
  for (auto &[problem, flows] : posed) {
    std::optional<Solution> solution = schedule(problem, flows, force);
    if (!solution)
      continue;
    Found found{std::move(problem.classes), std::move(*solution), false};
    found.isWithin = isWithin(budget, found.solution);
    const std::pair score(found.isWithin ? 0
                                         : worstRatio(found.solution, totals),
                          found.solution.rounds);
    if (best && score >= bestScore)
      continue;
    best = std::move(found);
    bestScore = score;
    if (best->isWithin) {
      force.mostRounds = best->solution.rounds - 1;
      giveUpAbove(budget);
    } else if (budget.isRatio) {
      giveUpAbove({true, std::max(bestScore.first, budget.amount)});
    }
  }
  return best;
}

std::optional<Found>
Search::chooseStaging(const Budget &budget,
                      std::optional<int64_t> mostRatio) const {
  std::vector<Posed> posed;
  if (std::optional<Found> found = findUnforced(budget, posed))
    return found;
  return findForced(budget, std::move(posed), mostRatio);
}

Found Search::run(const Budget &budget) const {
  std::optional<Found> direct = chooseStaging(budget, std::nullopt);
  if (direct->isWithin)
    return std::move(*direct);
  auto scoreOf = [&](const Found &found) {
    return found.isWithin
               ? std::pair<int64_t, int32_t>(0, found.solution.rounds)
               : std::pair(worstRatio(found.solution, totals), 0);
  };
  std::optional<Found> best;
  for (const int64_t ppm : ladder) {
    std::optional<int64_t> mostRatio;
    if (best && !best->isWithin && budget.isRatio)
      mostRatio =
          std::max(worstRatio(best->solution, totals) - 1, budget.amount);
    std::optional<Found> step = budget.isRatio && budget.amount == ppm
                                    ? std::move(direct)
                                    : chooseStaging({true, ppm}, mostRatio);
    if (!step) {
      if (*mostRatio < ppm) // no better, and a looser budget only takes more
        break;
      continue;
    }
    const bool keepsStep = step->isWithin;
    step->isWithin = isWithin(budget, step->solution);
    // A looser budget only takes more.
    const bool isEnough = keepsStep && !step->isWithin;
    if (!best || scoreOf(*step) < scoreOf(*best))
      best = std::move(step);
    if (isEnough)
      break;
  }
  return std::move(*best);
}

} // namespace

std::vector<std::vector<ClassMemory>>
listStagings(const Budget &budget, std::span<const ClassTotals> totals,
             int64_t portions) {
  std::vector<std::vector<ClassMemory>> stagings;
  for (const int64_t part : eighthsFor(totals))
    if (std::vector<ClassMemory> memory =
            shareMemory(budget, totals, part, portions);
        std::find(stagings.begin(), stagings.end(), memory) == stagings.end())
      stagings.push_back(std::move(memory));
  return stagings;
}

Found findWithin(const Budget &budget, std::span<const ClassTotals> totals,
                 const Pose &pose, int64_t portions) {
  return Search(totals, pose, portions).run(budget);
}

Found findStaging(const Budget &budget, std::span<const ClassTotals> totals,
                  const Pose &pose, int64_t portions) {
  return *Search(totals, pose, portions).chooseStaging(budget, std::nullopt);
}

} // namespace etc::rounds
