//===- ComparePlans.cpp - Which of two plans is better --------------------===//

#include "Attempt.h"
#include "RunPasses.h"

using namespace etc;
using namespace mlir;

using request::Request;

/// So many times faster than the cuts of other roles is faster than their plan,
/// though cuts count tied copies apart.
static constexpr double surely = 1.2;
/// Times that differ by less are about the same: what is predicted is no more
/// exact.
static constexpr double aboutSame = 1.01;

/// The mark says nothing of a pause alone.
bool etc::isSurelyBetter(const Request &request, Attempt &plan,
                         ArrayRef<int64_t> mark) {
  if (!isByTime(request))
    return plan.countInternode() < static_cast<uint64_t>(mark[1]);
  const runtime::PlanTime time = plan.findTime();
  return time.pauseSeconds == 0 &&
         surely * time.predictedSeconds <=
             static_cast<double>(mark[0]) /
                 static_cast<double>(request.rates.nicRate);
}

static bool isAboutSame(double a, double b) {
  return a <= aboutSame * b && b <= aboutSame * a;
}

/// Devices that receive more bytes and pass on none of them have shared a node
/// for nothing.
bool etc::isBetter(const Request &request, const PlanFigures &plan,
                   const PlanFigures &than) {
  if (isByTime(request)) {
    const runtime::PlanTime &time = plan.time, &other = than.time;
    if (!isAboutSame(time.pauseSeconds, other.pauseSeconds) ||
        !isAboutSame(time.predictedSeconds, other.predictedSeconds))
      return isLess(time, other) &&
             time.predictedSeconds <= aboutSame * other.predictedSeconds;
  }
  return std::pair(plan.internodeBytes, plan.movedBytes) <
         std::pair(than.internodeBytes, than.movedBytes);
}
