//===- WhichNodes.cpp - --which-nodes -------------------------------------===//

#include "WhichNodes.h"

#include "Outputs.h"
#include "Planner.h"
#include "Rates.h"
#include "etc/Planner/WhichNodes.h"

using namespace etc;
using namespace mlir;

int etc::writeWhichNodes(MLIRContext &context, const request::Request &request,
                         const PlannerOptions &options) {
  if (!Rates::parse(options.rates))
    return failRates(*options.rates);
  FailureOr<WhichNodes> answer =
      findWhichNodes(context, request, planOptions(options),
                     givenRates(options), *options.whichNodes, "--which-nodes");
  if (failed(answer))
    return static_cast<int>(request::ExitCode::Unsatisfiable);
  return writeOutputs(Output{options.output, [&](raw_ostream &os) {
                               writeWhichNodesJson(*answer, os);
                             }});
}
