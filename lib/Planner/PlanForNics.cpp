//===- PlanForNics.cpp - Devices chosen for their NICs, or by bytes alone -===//

#include "Attempt.h"
#include "RunPasses.h"

#include <numeric>

using namespace etc;
using namespace mlir;

using request::Request;

/// So many times faster is much.
static constexpr double much = 1.1;
/// Links that carry so many times what NICs do are fast: routes send no more
/// bytes between nodes then.
static constexpr int64_t fastLinks = 4;

/// Whether devices are to be chosen, and more than there are roles.
static bool hasSpareDevices(const Request &request) {
  return isByTime(request) && !request.curr.devices &&
         !request.curr.inventory && request.nodes.size() > 1 &&
         std::accumulate(request.nodes.begin(), request.nodes.end(),
                         int64_t(0)) > request.curr.parallel.world();
}

static bool hasFastLinks(const Request &request) {
  return request.rates.linkRate >= fastLinks * request.rates.nicRate;
}

/// Whether a plan is better than any of the roles before could be, and sends no
/// more bytes between nodes.
static bool isSurelyFaster(const Request &request, Attempt &reaching,
                           ArrayRef<int64_t> mark) {
  return isSurelyBetter(request, reaching, mark) &&
         (!hasFastLinks(request) ||
          reaching.countInternode() <= static_cast<uint64_t>(mark[1]));
}

/// Whether a plan is faster, and by a tenth where it sends more bytes between
/// nodes. Where state is deferred, neither the pause nor the whole may be
/// slower.
static bool isFaster(const Request &request, Attempt &plan, Attempt &than) {
  const runtime::PlanTime time = plan.findTime(), other = than.findTime();
  if (plan.countInternode() <= than.countInternode())
    return isLess(time, other) &&
           time.predictedSeconds <= other.predictedSeconds;
  return !hasFastLinks(request) &&
         much * time.pauseSeconds <= other.pauseSeconds &&
         much * time.predictedSeconds <= other.predictedSeconds;
}

FailureOr<PlannedRequest> etc::planForNics(MLIRContext &context,
                                           const Request &request,
                                           const PlanOptions &options,
                                           PlanByOptions plan) {
  if (options.reachNics || !hasSpareDevices(request))
    return plan(options);
  PlanOptions more = options;
  more.reachNics = true;
  Attempt reaching(context, [&] { return plan(more); });
  if (reaching.isGood()) {
    const auto mark =
        dyn_cast_or_null<DenseI64ArrayAttr>(reaching.findMark(moreNicsMark));
    if (!mark || isSurelyFaster(request, reaching, mark))
      return reaching.take();
  }
  reaching.dropIndices();
  Attempt plain(context, [&] { return plan(options); });
  if (!reaching.isGood())
    return plain.take();
  if (!plain.isGood())
    return reaching.take();
  return isFaster(request, reaching, plain) ? reaching.take() : plain.take();
}
