//===- ReadRequest.cpp - Requests from JSON -------------------------------===//

#include "Reader.h"

using namespace etc::config;
using namespace etc::config::json;
using llvm::Error;
using llvm::StringRef;

static Error readDeviceSet(const Input &input, std::vector<int64_t> &target) {
  if (Error error = readIntegers(input, deviceBounds, target))
    return error;
  return store(sortedDevices(std::move(target), input.field), target);
}

static Error readModelOf(const Input &input, Request &request) {
  return readModel(input, request.model);
}

static Error readClusterOf(const Input &input, Request &request) {
  request.clusterWhere = input.field.where;
  return readCluster(input, request.nodes);
}

static Error readTypes(const Input &input, Request &request) {
  request.typesWhere = input.field.where;
  request.typesGiven = true;
  if (input.node.kind != Kind::Array)
    return expected(input, "an array of strings");
  std::vector<std::string> names;
  for (size_t i = 0; i < input.node.elements.size(); ++i) {
    Input element = elementOf(input, i);
    if (element.node.kind != Kind::String)
      return expected(element, "a string");
    names.push_back(element.node.text);
    if (Error error = checkType(request.model, names.back(), element.field))
      return error;
  }
  return store(orderedTypes(request.model, names, input.field), request.types);
}

static Error readOptimizer(const Input &input, Request &request) {
  return readWord(input, values().optimizer, request.model.optimizer);
}

static Error readPrecision(const Input &input, Request &request) {
  return readWord(input, values().precision, request.model.precision);
}

/// For what depends on other members, and is read after them.
static Error skip(const Input &, Request &) { return Error::success(); }

static Error readBudget(const Input &input, Request &request) {
  request.budgetWhere = input.field.where;
  const Node &node = input.node;
  if (node.kind != Kind::Integer && node.kind != Kind::String)
    return expected(input, "a number of bytes or a ratio such as \"1.05x\"");
  return store(parseMemoryBudget(node.text, input.field), request.memoryBudget);
}

template <SideSpec Request::*Side>
static Error readSideOf(const Input &input, Request &request) {
  return readSide(input, request.*Side);
}

static Error readFailed(const Input &input, Request &request) {
  request.failedWhere = input.field.where;
  return readDeviceSet(input, request.failed);
}

static Error readLeaving(const Input &input, Request &request) {
  request.leavingWhere = input.field.where;
  return readDeviceSet(input, request.leaving);
}

static Error readDerive(const Input &input, Request &request) {
  return readWord(input, values().derive, request.derive);
}

static Error readPolicy(const Input &input, Request &request) {
  request.policyWhere = input.field.where;
  return readWord(input, values().policy, request.policy);
}

static Error readPlace(const Input &input, Request &request) {
  request.placeWhere = input.field.where;
  return readWord(input, values().place, request.place);
}

static Error readObjective(const Input &input, Request &request) {
  return readWord(input, values().objective, request.objective);
}

static const MemberReader<Request> requestMembers[] = {
    {"model", readModelOf},
    {"prev", readSideOf<&Request::prev>},
    {"curr", readSideOf<&Request::curr>},
    {"cluster", readClusterOf},
    {"failed", readFailed},
    {"leaving", readLeaving},
    {"types", skip},
    {"optimizer", skip},
    {"precision", skip},
    {"derive", readDerive},
    {"policy", readPolicy},
    {"place", readPlace},
    {"objective", readObjective},
    {"memory_budget", readBudget},
};

llvm::Expected<Request> etc::config::parseRequest(StringRef text,
                                                  StringRef fileName) {
  auto root = parse(text, fileName);
  if (!root)
    return root.takeError();
  Input input = {*root, {{fileName.str(), root->line, root->column}, ""}};
  if (root->kind != Kind::Object)
    return expected(input, "an object");
  Request request;
  request.where = request.model.where = input.field.where;
  if (Error error = readMembers(input, requestMembers, request))
    return error;
  adoptModel(request);
  for (auto [key, read] :
       {std::pair("precision", &readPrecision),
        std::pair("optimizer", &readOptimizer), std::pair("types", &readTypes)})
    for (const Member &entry : root->members)
      if (entry.key == key)
        if (Error error = read(memberOf(input, entry), request))
          return error;
  settleRequest(request);
  return request;
}
