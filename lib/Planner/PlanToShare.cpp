//===- PlanToShare.cpp - Roles share nodes, or keep the most bytes --------===//

#include "Attempt.h"
#include "RunPasses.h"

using namespace etc;
using namespace mlir;

using request::Request;

FailureOr<PlannedRequest> etc::planToShare(MLIRContext &context,
                                           const Request &request,
                                           const PlanOptions &options,
                                           PlanByOptions plan) {
  if (options.shareNodes || request.nodes.size() < 2)
    return plan(options);
  Attempt sharing(context, [&] { return plan(options); });
  if (!sharing.isGood())
    return sharing.take();
  const auto mark =
      dyn_cast_or_null<DenseI64ArrayAttr>(sharing.findMark(sharedNodesMark));
  if (!mark || isSurelyBetter(request, sharing, mark))
    return sharing.take();
  sharing.dropIndices();
  PlanOptions without = options;
  without.shareNodes = false;
  Attempt plain(context, [&] { return plan(without); });
  const bool isBetter =
      plain.isGood() &&
      etc::isBetter(request, plain.getFigures(), sharing.getFigures());
  return isBetter ? plain.take() : sharing.take();
}
