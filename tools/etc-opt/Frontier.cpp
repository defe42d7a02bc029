//===- Frontier.cpp - --frontier ------------------------------------------===//

#include "Frontier.h"

#include "Outputs.h"
#include "Planner.h"
#include "Rates.h"
#include "etc/Planner/Frontier.h"

using namespace etc;
using namespace mlir;

int etc::writeFrontier(MLIRContext &context, const request::Request &request,
                       const PlannerOptions &options) {
  if (!Rates::parse(options.rates))
    return failRates(*options.rates);
  FailureOr<Frontier> frontier =
      findFrontier(context, request, planOptions(options), givenRates(options));
  if (failed(frontier))
    return static_cast<int>(request::ExitCode::Unsatisfiable);
  return writeOutputs(Output{
      options.output, [&](raw_ostream &os) { writeFrontier(*frontier, os); }});
}
