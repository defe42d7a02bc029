//===- Checks.cpp - What a verb can be asked for --------------------------===//

#include "etc/Planner/Checks.h"

using namespace etc;
using llvm::Error;
using llvm::Twine;

static Error refuse(const char *field, const Twine &text) {
  return request::malformed({{}, field}, text);
}

Error etc::checkComparable(const request::Request &request) {
  if (request.policy == "paper")
    return refuse("policy", "plans of \"best\" are compared here, got "
                            "\"paper\"; leave the policy out");
  if (request.curr.devices)
    return refuse("curr.devices",
                  "devices are chosen here; leave those of curr out");
  return Error::success();
}

Error etc::checkTwoStage(const request::Request &request) {
  if (request.policy == "paper")
    return Error::success();
  return refuse("policy", "two stages are of the paper's method; set the "
                          "policy to \"paper\"");
}

Error etc::checkRates(const Rates &rates) {
  if (rates.areValid())
    return Error::success();
  return refuse("rates", "expected 0.001 to 1000000 GB/s between nodes and "
                         "inside one");
}
