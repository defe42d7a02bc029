//===- PartRequest.cpp - A request that stands for a larger one -----------===//

#include "PartRequest.h"

using namespace etc;
using namespace mlir;
using request::Request;

model::Model etc::modelOf(const Request &request) {
  return model::buildModel(request.model, request.types,
                           request.prev.parallel.distributedOptimizer ||
                               request.curr.parallel.distributedOptimizer);
}

LogicalResult etc::compareWords(const Comparison &comparison,
                                const Request &part, const Request &all) {
  if (failed(comparison.words("place", part.place, all.place)) ||
      failed(comparison.words("derive", part.derive, all.derive)))
    return failure();
  return comparison.numbers(
      "", {{"memory budget", part.memoryBudget == all.memoryBudget, true},
           {"types", part.types == all.types, true},
           {"deferred types", part.defer == all.defer, true},
           {"reserve", part.reserve, all.reserve},
           {"gradient bytes", part.gradientBytes, all.gradientBytes},
           {"link rate", part.rates.linkRate, all.rates.linkRate},
           {"NIC rate", part.rates.nicRate, all.rates.nicRate}});
}
