//===- Schedules.cpp - Rounds that are few, or take little time -----------===//

#include "Schedules.h"

#include "RoundPoser.h"
#include "TimeFloor.h"

#include <array>
#include <limits>

using namespace etc;
using namespace mlir;

/// In how many parts at least a round is filled; and where it should be level.
static constexpr int64_t partsOfRound = 2, partsOfLevelRound = 4;

/// Into how many portions flows are divided on trial. What the memory budget
/// allows decides only which of these differ, so that a larger budget nearly
/// always has the rounds of a smaller one to choose from. Level rounds are
/// nearly as good with one number as with the next. Others were never the best
/// with more than 64 portions in 370 random requests, unless what is sent on
/// needs them.
constexpr std::array<int64_t, 5> portionsOfLevel = {32, 64, 128, 192, 384};
constexpr std::array<int64_t, 2> portionsOfOthers = {32, 64};

/// Migrations of the least effort have no more parts in a round than few rounds
/// have, and hardly more units, which is what planning takes its time for.
static constexpr double hardlyMore = 1.1;

/// Rounds that add no more than this to the time of the busiest link or NIC are
/// not improved upon.
static constexpr double goodEnough = 1.02;

/// Up to so many chunks, a trial that misses the budget is made again for other
/// budgets: fifteen searches or more, which hardly ever gain anything.
static constexpr size_t fewChunks = 2048;

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
  /// costs at least a hundredth less.
  void shorten(Schedule &schedule, RoundPoser poser,
               ArrayRef<int64_t> portions) const;
  /// The portions of trials: those of a pipeline first, where some is sent on,
  /// and fewer where trials take long.
  SmallVector<int64_t> getPortions(ArrayRef<int64_t> all) const {
    constexpr size_t trials[] = {portionsOfLevel.size(), 2, 1};
    SmallVector<int64_t> portions;
    if (pipelined > 1)
      portions.push_back(pipelined);
    llvm::append_range(portions, all.take_front(std::min(
                                     all.size(), trials[unsigned(effort)])));
    return portions;
  }
  /// Whether another kind of trials is worth its time.
  bool needsOthers(double seconds) const {
    return effort == Effort::Full &&
           seconds > nearEnough * times.getPortSeconds();
  }

private:
  bool isEnough(double seconds, int inVain) const;
  /// Whether no rounds of these portions cost less than `most`. What is summed
  /// up in another order differs a little.
  bool isHopeless(int64_t number, const RoundPoser &poser, double most) const {
    return (1 - 1e-6) * floor.findCost(number, poser.getParts()) >= most;
  }

  /// Where less than both is left to gain, a factor and seconds, two trials in
  /// vain end the search, which would take longer than it could gain.
  static constexpr double nearEnough = 1.06, fewSeconds = 0.005;

  const rounds::Budget &budget;
  ArrayRef<rounds::ClassTotals> totals;
  const RoundTimes &times;
  const TimeFloor floor;
  const int64_t pipelined; ///< portions of what is sent on; 1: no trial
  const Effort effort;
};
} // namespace

bool Shortener::isEnough(double seconds, int inVain) const {
  const double port = times.getPortSeconds(), enough = goodEnough * port;
  return seconds <= enough ||
         (inVain >= 2 &&
          seconds <= std::min(nearEnough * port, enough + fewSeconds));
}

void Shortener::shorten(Schedule &schedule, RoundPoser poser,
                        ArrayRef<int64_t> portions) const {
  RoundTimes::Seconds &least = schedule.seconds;
  const double mostUnits = hardlyMore * double(schedule.chunks.size());
  int inVain = 0;
  const bool areFew = schedule.chunks.size() <= fewChunks;
  auto *const search = areFew ? rounds::findWithin : rounds::findStaging;
  // No more portions than these are worth a trial.
  int64_t hopeless = std::numeric_limits<int64_t>::max();
  for (int64_t number : portions) {
    if (isEnough(least.pause, inVain))
      break;
    const double most = 0.99 * least.getCost();
    if (number >= hopeless || isHopeless(number, poser, most)) {
      hopeless = std::min(hopeless, number);
      ++inVain;
      continue;
    }
    rounds::Found found = search(budget, totals, std::ref(poser), number);
    std::vector<Chunk> chunks = poser.takeChunks(found);
    const RoundTimes::Seconds seconds = times.secondsOf(found.solution, chunks);
    ++inVain;
    if (!found.isWithin || seconds.getCost() >= most ||
        (effort == Effort::Least &&
         double(found.solution.roundOf.size()) > mostUnits))
      continue;
    schedule = {std::move(found), std::move(chunks), seconds};
    inVain = 0;
  }
}

Schedule etc::findSchedule(const rounds::Budget &budget,
                           ArrayRef<rounds::ClassTotals> totals,
                           const ProgramFlows &flows) {
  const ItemKinds kinds(flows);
  RoundPoser poser(flows, kinds, partsOfRound);
  rounds::Found found = rounds::findWithin(budget, totals, std::ref(poser));
  std::vector<Chunk> chunks = poser.takeChunks(found);
  return {std::move(found), std::move(chunks), {}};
}

bool etc::isLeftOut(const RoundTimes::Seconds &seconds, const RoundTimes &times,
                    double leastGain) {
  const double port = times.getPortSeconds();
  return seconds.pause > goodEnough * port && seconds.pause - port < leastGain;
}

RoundTimes::Seconds
etc::shorten(Schedule &schedule, const rounds::Budget &budget,
             ArrayRef<rounds::ClassTotals> totals, const ProgramFlows &flows,
             const RoundTimes &times, const PortLoads &loads, Effort effort,
             double leastGain) {
  const RoundTimes::Seconds given = schedule.seconds =
      times.secondsOf(schedule.found.solution, schedule.chunks);
  if (given.pause <= goodEnough * times.getPortSeconds() ||
      isLeftOut(given, times, leastGain))
    return given;
  const std::vector<rounds::ClassTotals> urgent = urgentOf(totals, flows);
  const ItemKinds &kinds = times.getRates().getKinds();
  const Shortener shortener(budget, totals, times, effort);
  shortener.shorten(
      schedule,
      RoundPoser(flows, kinds, urgent, loads, times.getPortSeconds(),
                 effort == Effort::Least ? partsOfRound : partsOfLevelRound),
      shortener.getPortions(portionsOfLevel));
  if (shortener.needsOthers(schedule.seconds.pause))
    shortener.shorten(schedule, RoundPoser(flows, kinds, partsOfRound),
                      shortener.getPortions(portionsOfOthers));
  return given;
}
