//===- CheckNextStage.cpp - V14: a stage begins where one ended -----------===//

#include "Comparison.h"
#include "etc/Verify/Boundaries.h"

using namespace etc;
using namespace mlir;

LogicalResult etc::verifyNextStage(MigrationOp first, MigrationOp second) {
  const Comparison comparison(second, Rule::NextStage, "the second stage",
                              "the first");
  if (failed(comparison.words("the configuration", second.getPrev().str(),
                              first.getCurr().str())))
    return failure();
  if (second.getPrev() != first.getCurr())
    return Refusal(second, Rule::NextStage)
           << "internal error: begins with " << second.getPrev()
           << ", the first stage ends with " << first.getCurr();
  return comparison.lists("the placement between them",
                          second.getPrevPlacement(),
                          first.getOnly<PlacementOp>().getDevices());
}
