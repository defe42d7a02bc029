// The search for a schedule that keeps a budget: several stagings, then other
// budgets.

#include "Ratio.h"
#include "etc/Optimize/Rounds/Solver.h"

#include <algorithm>

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
  Found chooseStaging(const Budget &budget) const;

private:
  bool isWithin(const Budget &budget, const Solution &solution) const;
  std::span<const int64_t> eighths() const;
  std::vector<std::vector<ClassMemory>>
  listStagings(const Budget &budget) const;
  std::optional<Found> findUnforced(const Budget &budget,
                                    std::vector<Problem> &posed) const;
  Found findForced(const Budget &budget, std::vector<Problem> posed) const;

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

/// The eighths of the slack to try for staging. A device that both takes and
/// gives memory needs some of the slack itself, so all of it is the last
/// resort.
std::span<const int64_t> Search::eighths() const {
  static constexpr int64_t withTurnover[] = {7, 6, 4, 2, 8},
                           without[] = {8, 6, 4, 2};
  const bool turnsOver =
      std::any_of(totals.begin(), totals.end(),
                  [](const ClassTotals &it) { return it.turnsOver; });
  return turnsOver ? std::span<const int64_t>(withTurnover) : without;
}

/// What to try, the widest first. Where portions are small, several eighths
/// leave the same.
std::vector<std::vector<ClassMemory>>
Search::listStagings(const Budget &budget) const {
  std::vector<std::vector<ClassMemory>> stagings;
  for (const int64_t part : eighths())
    if (std::vector<ClassMemory> memory =
            shareMemory(budget, totals, part, portions);
        std::find(stagings.begin(), stagings.end(), memory) == stagings.end())
      stagings.push_back(std::move(memory));
  return stagings;
}

/// The widest staging that keeps the budget throughout; or nothing, and all
/// problems.
std::optional<Found> Search::findUnforced(const Budget &budget,
                                          std::vector<Problem> &posed) const {
  for (std::vector<ClassMemory> &memory : listStagings(budget)) {
    Problem &problem = posed.emplace_back(pose(std::move(memory)));
    std::optional<Solution> solution = solveUnforced(problem);
    if (solution && isWithin(budget, *solution))
      return Found{std::move(problem.classes), std::move(*solution), true};
  }
  return std::nullopt;
}

/// The fewest rounds of those whose peak is within the budget although a round
/// is forced, or else the least peak.
Found Search::findForced(const Budget &budget,
                         std::vector<Problem> posed) const {
  std::optional<Found> best;
  std::pair<int64_t, int32_t> bestScore;
  for (Problem &problem : posed) {
    Found found{{}, solveList(problem), false};
    found.memory = std::move(problem.classes);
    found.isWithin = isWithin(budget, found.solution);
    const std::pair score(found.isWithin ? 0
                                         : worstRatio(found.solution, totals),
                          found.solution.rounds);
    if (!best || score < bestScore) {
      best = std::move(found);
      bestScore = score;
    }
  }
  return std::move(*best);
}

Found Search::chooseStaging(const Budget &budget) const {
  std::vector<Problem> posed;
  if (std::optional<Found> found = findUnforced(budget, posed))
    return std::move(*found);
  return findForced(budget, std::move(posed));
}

Found Search::run(const Budget &budget) const {
  Found direct = chooseStaging(budget);
  if (direct.isWithin)
    return direct;
  auto scoreOf = [&](const Found &found) {
    return found.isWithin
               ? std::pair<int64_t, int32_t>(0, found.solution.rounds)
               : std::pair(worstRatio(found.solution, totals), 0);
  };
  std::optional<Found> best;
  for (const int64_t ppm : ladder) {
    Found step = chooseStaging({true, ppm});
    const bool keepsStep = step.isWithin;
    step.isWithin = isWithin(budget, step.solution);
    // A looser budget only takes more.
    const bool isEnough = keepsStep && !step.isWithin;
    if (!best || scoreOf(step) < scoreOf(*best))
      best = std::move(step);
    if (isEnough)
      break;
  }
  return std::move(*best);
}

} // namespace

Found findWithin(const Budget &budget, std::span<const ClassTotals> totals,
                 const Pose &pose, int64_t portions) {
  return Search(totals, pose, portions).run(budget);
}

Found findStaging(const Budget &budget, std::span<const ClassTotals> totals,
                  const Pose &pose, int64_t portions) {
  return Search(totals, pose, portions).chooseStaging(budget);
}

} // namespace etc::rounds
