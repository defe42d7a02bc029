//===- PlanFaster.cpp - Routes of least time, or sources by bytes ---------===//

#include "Attempt.h"
#include "RunPasses.h"

using namespace etc;
using namespace mlir;

using request::Request;

/// What rounds may add to the time of the busiest link or NIC before it is
/// worth planning once more, in percent.
static constexpr int64_t worthwhilePercent = 105;
/// Without a budget, a plan whose peak is more than the one of these over the
/// larger state gives way to one that keeps the other.
static constexpr double tooLarge = 1.1, defaultBudget = 1.05;
/// Of a plan that is made again with less memory.
static constexpr size_t mostBytes = 4 << 20;

bool etc::isByTime(const Request &request) {
  return request.isByTime() && request.policy != "paper";
}

/// Whether rounds add little to what the bytes take; of the pause where state
/// is deferred.
static bool isNearlyBest(const runtime::PlanTime &time) {
  return time.pauseSeconds > 0 ? 100 * time.pauseSeconds <=
                                     worthwhilePercent * time.pauseBoundSeconds
                               : 100 * time.predictedSeconds <=
                                     worthwhilePercent * time.portSeconds;
}

/// Whether the bound shows already that no routing is much faster.
static bool hasTightBound(const runtime::PlanTime &time) {
  return 100 * time.portSeconds <= 101 * time.boundSeconds;
}

static std::vector<Request> byBytes(std::vector<Request> requests) {
  for (Request &request : requests)
    if (request.isByTime())
      request.objective = "internode";
  return requests;
}

static double getPause(const runtime::PlanTime &time) {
  return time.pauseSeconds > 0 ? time.pauseSeconds : time.predictedSeconds;
}

/// Whether some rounds of a plan that is too large are not.
static bool mayBeSmaller(Attempt &tooLargeOne) {
  const auto least =
      dyn_cast_or_null<IntegerAttr>(tooLargeOne.findMark(leastPeakMark));
  return least && static_cast<double>(least.getInt()) <= 1e6 * tooLarge;
}

/// By time with rounds that are not too large, or a plan that keeps the default
/// budget if that is faster.
static FailureOr<PlannedRequest> chooseSmaller(MLIRContext &context,
                                               ArrayRef<Request> requests,
                                               const PlanOptions &options,
                                               PlanFn plan, Attempt smallest) {
  PlanOptions smaller = options;
  smaller.mostPeak = tooLarge;
  if (smallest.isOnePlan())
    smaller.fasterThan = getPause(smallest.findTime());
  smallest.dropIndices();
  Attempt byTime(context, [&] { return plan(requests, smaller); });
  const bool isBetter = byTime.isGood() && byTime.getPeak() <= tooLarge &&
                        isLess(byTime.findTime(), smallest.findTime());
  return isBetter ? byTime.take() : smallest.take();
}

/// Of two refusals the one that has found rounds for a smaller budget. What
/// passes through devices has what a ratio leaves, so that routes by time are
/// others where it leaves more: they have to keep the budget that is named.
static FailureOr<PlannedRequest> refuse(MLIRContext &context,
                                        std::vector<Request> requests,
                                        const PlanOptions &options, PlanFn plan,
                                        Attempt byTime, Attempt other) {
  const std::optional<int64_t> least = byTime.findLeastBudget(),
                               ofOther = other.findLeastBudget();
  if (!least || !ofOther || *least >= *ofOther)
    return other.take();
  request::MemoryBudget &budget = *requests.back().memoryBudget;
  if (budget.unit != request::MemoryBudget::Unit::PartsPerMillion)
    return byTime.take();
  budget.amount = *least;
  Attempt named(context, [&] { return plan(requests, options); });
  return named.isGood() ? byTime.take() : other.take();
}

/// By time, or by bytes where that is faster.
static FailureOr<PlannedRequest> planWithin(MLIRContext &context,
                                            ArrayRef<Request> requests,
                                            const PlanOptions &options,
                                            PlanFn plan) {
  Attempt byTime(context, [&] { return plan(requests, options); });
  if (byTime.isGood() && !byTime.findMark(byTimeMark))
    return byTime.take();
  const runtime::PlanTime time =
      byTime.isGood() ? byTime.findTime() : runtime::PlanTime();
  // A chain has the budget of its last request.
  const bool isTooLarge = byTime.isGood() && !requests.back().memoryBudget &&
                          byTime.getPeak() > tooLarge;
  if (byTime.isGood() && !isTooLarge && isNearlyBest(time))
    return byTime.take();
  PlanOptions faster = options;
  if (byTime.isGood() && !isTooLarge && byTime.isOnePlan())
    faster.fasterThan = getPause(time);
  // Those of a plan that could only be kept if it is faster still.
  if (byTime.isGood() && !isTooLarge && hasTightBound(time))
    faster.findsTolls = false;
  byTime.dropIndices();
  Attempt other(context, [&] { return plan(byBytes(requests.vec()), faster); });
  if (!byTime.isGood() && !other.isGood())
    return refuse(context, requests.vec(), options, plan, std::move(byTime),
                  std::move(other));
  const bool isSmaller =
      isTooLarge && other.isGood() && other.getPeak() <= defaultBudget;
  if (isSmaller && mayBeSmaller(byTime))
    return chooseSmaller(context, requests, options, plan, std::move(other));
  const bool isBetter =
      isSmaller || (other.isGood() && isLess(other.findTime(), time));
  return byTime.isGood() && !isBetter ? byTime.take() : other.take();
}

/// Whether no routing and rounds of the same roles are much faster.
static bool isAtBound(const runtime::PlanTime &time) {
  constexpr double much = 1.02;
  return time.pauseSeconds > 0
             ? time.pauseSeconds <= much * time.pauseBoundSeconds
             : time.predictedSeconds <= much * time.boundSeconds;
}

static runtime::PlanTime timeOfOnly(const PlannedRequest &planned) {
  return runtime::timeOf(
             plan::PlanIndex(*plan::fb::GetPlan(planned.plans.front().data())))
      .value_or(runtime::PlanTime());
}

/// The smaller budgets that a request is planned with, too, if its own is a
/// multiple of the larger state.
static ArrayRef<int64_t> smallerBudgets(const Request &request) {
  static constexpr int64_t all[] = {1'500'000, 1'250'000, 1'100'000, 1'050'000,
                                    1'020'000};
  const std::optional<request::MemoryBudget> &budget = request.memoryBudget;
  if (!budget || budget->unit != request::MemoryBudget::Unit::PartsPerMillion)
    return {};
  return ArrayRef(all).drop_while(
      [&](int64_t ppm) { return ppm >= budget->amount; });
}

/// Rounds that use more memory are found by other estimates than those of the
/// time, and may be slower. A small plan is made with less, too.
FailureOr<PlannedRequest> etc::planFaster(MLIRContext &context,
                                          std::vector<Request> requests,
                                          const PlanOptions &options,
                                          PlanFn plan) {
  if (!llvm::any_of(requests, isByTime))
    return plan(requests, options);
  FailureOr<PlannedRequest> best = planWithin(context, requests, options, plan);
  for (int64_t ppm : smallerBudgets(requests.back())) {
    if (failed(best) || best->plans.size() != 1 ||
        best->plans.front().size() > mostBytes)
      break;
    const runtime::PlanTime ofBest = timeOfOnly(*best);
    if (isAtBound(ofBest))
      break;
    requests.back().memoryBudget->amount = ppm;
    Attempt smaller(
        context, [&] { return planWithin(context, requests, options, plan); });
    if (!smaller.isGood())
      break;
    if (smaller.isOnePlan() && isLess(smaller.findTime(), ofBest))
      best = smaller.take();
  }
  return best;
}
