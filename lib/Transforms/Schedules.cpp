//===- Schedules.cpp - Rounds that are few, or take little time -----------===//

#include "Schedules.h"

#include "TimeFloor.h"

#include <array>
#include <optional>

using namespace etc;
using namespace mlir;

/// In how many parts at least a round is filled; and where it should be level.
static constexpr int64_t partsOfRound = 2, partsOfLevelRound = 4;

/// Into how many portions flows are divided on trial. What the memory budget
/// allows decides only which of these differ, so that a larger budget nearly
/// always has the rounds of a smaller one to choose from. Rounds are nearly as
/// good with one number as with the next.
constexpr std::array<int64_t, 5> portionsOnTrial = {32, 64, 128, 192, 384};

/// Migrations of the least effort have no more parts in a round than few rounds
/// have, and hardly more units, which is what planning takes its time for.
static constexpr double hardlyMore = 1.1;

/// Rounds that add no more than this to the time of the busiest link or NIC are
/// not improved upon.
static constexpr double goodEnough = 1.02;

/// Up to so many chunks, a trial that misses the budget is made again for other
/// budgets: fifteen searches or more, which hardly ever gain anything.
static constexpr size_t fewChunks = 2048;

/// Rounds of one kind are tried while they are nearly as good as others.
static constexpr double nearlyAsGood = 1.2;

/// One replaces another that costs at least a hundredth more.
static constexpr double clearlyLess = 0.99;

/// So many trials in a row in vain end the search, or one where less is left to
/// gain than the next one takes.
static constexpr int mostInVain = 2;

/// What a trial takes, about, for each unit of the problem.
static constexpr double secondsOfUnit = 1e-6;

namespace {
/// Looks for a schedule of smaller rounds that takes less time.
class Shortener {
public:
  Shortener(const rounds::Budget &budget, ArrayRef<rounds::ClassTotals> totals,
            const RoundTimes &times, Effort effort)
      : budget(budget), totals(totals), times(times), floor(times, totals),
        pipelined(effort == Effort::Least ? 1 : times.countPortions(totals)),
        effort(effort) {}

  /// Replaces the schedule by the one that costs least of those on trial, if it
  /// costs at least a hundredth less. The more portions there are, the less a
  /// schedule costs, up to a point, as a rule, and the longer a trial takes.
  void shorten(Schedule &schedule, RoundPoser &poser) const;
  /// Whether another kind of trials is worth its time.
  bool needsOthers(double seconds) const {
    return effort == Effort::Full &&
           seconds > nearEnough * times.getPortSeconds();
  }

private:
  SmallVector<int64_t> listPortions() const;
  /// What no rounds of these portions cost less than. What is summed up in
  /// another order differs a little.
  double findFloor(int64_t portions, const RoundPoser &poser) const {
    return (1 - 1e-6) * floor.findCost(portions, poser.getParts());
  }
  bool isGoodEnough(const RoundTimes::Seconds &seconds) const {
    return seconds.pause <= goodEnough * times.getPortSeconds();
  }

  static constexpr double nearEnough = 1.06;

  const rounds::Budget &budget;
  ArrayRef<rounds::ClassTotals> totals;
  const RoundTimes &times;
  const TimeFloor floor;
  const int64_t pipelined; ///< portions of what is sent on; 1: no trial
  const Effort effort;
};
} // namespace

/// Ascending: fewer where trials take long, and those of a pipeline, where some
/// is sent on, unless one of the others is about as many.
SmallVector<int64_t> Shortener::listPortions() const {
  constexpr size_t trials[] = {portionsOnTrial.size(), 2, 1};
  SmallVector<int64_t> portions(
      ArrayRef<int64_t>(portionsOnTrial).take_front(trials[unsigned(effort)]));
  const bool isAmongThem = llvm::any_of(portions, [&](int64_t number) {
    return 5 * std::abs(number - pipelined) <= number;
  });
  if (pipelined > 1 && !isAmongThem)
    portions.insert(llvm::lower_bound(portions, pipelined), pipelined);
  return portions;
}

void Shortener::shorten(Schedule &schedule, RoundPoser &poser) const {
  RoundTimes::Seconds &best = schedule.seconds;
  const double mostUnits = hardlyMore * double(schedule.chunks.size());
  const bool areFew = schedule.chunks.size() <= fewChunks;
  auto *const search = areFew ? rounds::findWithin : rounds::findStaging;
  std::vector<std::vector<rounds::ClassMemory>> last;
  std::optional<double> least; // of this kind, within the budget
  double toTry = 0;            // seconds for each portion
  int inVain = 0;
  for (int64_t number : listPortions()) {
    const double cost = best.getCost(), floorCost = findFloor(number, poser);
    if (isGoodEnough(best) || floorCost >= clearlyLess * cost ||
        (least && *least > nearlyAsGood * cost) || inVain == mostInVain ||
        (inVain > 0 && cost - floorCost < toTry * double(number)))
      break;
    auto stagings = rounds::listStagings(budget, totals, number);
    if (!areFew && stagings == last)
      continue;
    last = std::move(stagings);
    rounds::Found found = search(budget, totals, std::ref(poser), number);
    std::vector<Chunk> chunks = poser.takeChunks(found);
    const RoundTimes::Seconds seconds = times.secondsOf(found.solution, chunks);
    toTry = secondsOfUnit * double(chunks.size()) / double(number);
    if (least && seconds.getCost() > *least)
      ++inVain;
    else if (found.isWithin)
      inVain = 0;
    if (found.isWithin)
      least = std::min(least.value_or(seconds.getCost()), seconds.getCost());
    if (found.isWithin && seconds.getCost() < clearlyLess * cost &&
        (effort != Effort::Least || double(chunks.size()) <= mostUnits))
      schedule = {std::move(found), std::move(chunks), seconds};
  }
}

ScheduleSearch::ScheduleSearch(const ProgramFlows &flows)
    : flows(flows), kinds(flows), totals(totalsOf(flows)),
      few(flows, kinds, partsOfRound) {}

Schedule ScheduleSearch::find(const rounds::Budget &budget) {
  rounds::Found found = rounds::findWithin(budget, totals, std::ref(few));
  std::vector<Chunk> chunks = few.takeChunks(found);
  return {std::move(found), std::move(chunks), {}};
}

bool etc::isLeftOut(const RoundTimes::Seconds &seconds, const RoundTimes &times,
                    double leastGain) {
  const double port = times.getPortSeconds();
  return seconds.pause > goodEnough * port && seconds.pause - port < leastGain;
}

RoundTimes::Seconds ScheduleSearch::shorten(Schedule &schedule,
                                            const rounds::Budget &budget,
                                            const RoundTimes &times,
                                            const PortLoads &loads,
                                            Effort effort, double leastGain) {
  const RoundTimes::Seconds given = schedule.seconds =
      times.secondsOf(schedule.found.solution, schedule.chunks);
  if (given.pause <= goodEnough * times.getPortSeconds() ||
      isLeftOut(given, times, leastGain))
    return given;
  const std::vector<rounds::ClassTotals> urgent = urgentOf(totals, flows);
  const Shortener shortener(budget, totals, times, effort);
  RoundPoser level(flows, kinds, urgent, loads, times.getPortSeconds(),
                   effort == Effort::Least ? partsOfRound : partsOfLevelRound);
  shortener.shorten(schedule, level);
  if (shortener.needsOthers(schedule.seconds.pause))
    shortener.shorten(schedule, few);
  return given;
}
