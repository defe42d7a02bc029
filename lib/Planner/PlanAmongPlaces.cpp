//===- PlanAmongPlaces.cpp - What narrower places allow, this one does ----===//

#include "Attempt.h"
#include "RunPasses.h"

#include <memory>

using namespace etc;
using namespace mlir;

using request::Request;

/// A larger plan takes seconds to make, and is not made again with other roles.
static constexpr size_t mostBytes = 32 << 20;

/// With the least bytes in all first, no placement moves fewer than that of any
/// place.
bool etc::triesNarrower(const Request &request, const PlanOptions &options) {
  return !options.within && !options.narrower.empty() &&
         request.policy == "best" && request.place != "pack" &&
         !request.isTotalFirst() && !request.curr.devices &&
         request.nodes.size() > 1;
}

FailureOr<PlannedRequest> etc::planAmongPlaces(MLIRContext &context,
                                               const Request &request,
                                               const PlanOptions &options,
                                               PlanByOptions plan) {
  if (!triesNarrower(request, options))
    return plan(options);
  auto best = std::make_unique<Attempt>(context, [&] { return plan(options); });
  if (!best->isGood() || best->getSize() > mostBytes)
    return best->take();
  const auto marks =
      dyn_cast_or_null<DictionaryAttr>(best->findMark(narrowerMark));
  for (Place place : options.narrower) {
    const auto mark =
        marks ? marks.getAs<DenseI64ArrayAttr>(stringifyPlace(place)) : nullptr;
    if (!mark || isSurelyBetter(request, *best, mark))
      continue;
    best->dropIndices();
    PlanOptions within = options;
    within.within = place;
    auto other =
        std::make_unique<Attempt>(context, [&] { return plan(within); });
    if (other->isGood() &&
        isBetter(request, other->getFigures(), best->getFigures()))
      best = std::move(other);
  }
  return best->take();
}
