//===- ReadSide.cpp - A configuration in JSON -----------------------------===//

#include "Reader.h"

using namespace etc::config;
using namespace etc::config::json;
using llvm::Error;
using llvm::StringRef;

template <int64_t Parallelism::*Size>
static Error readGridSize(const Input &input, SideSpec &side) {
  return readInteger(input, gridBounds, side.parallel.*Size);
}

static Error readUnplannedSize(const Input &input, SideSpec &) {
  int64_t size = 1;
  if (Error error = readInteger(input, gridBounds, size))
    return error;
  return checkUnplannedSize(size, input.field, "");
}

static Error readSideDevices(const Input &input, SideSpec &side) {
  side.devicesWhere = input.field.where;
  side.devices.emplace();
  return readIntegers(input, deviceBounds, *side.devices);
}

static Error readDistributedOptimizer(const Input &input, SideSpec &) {
  bool distributed = false;
  if (Error error = readBool(input, distributed))
    return error;
  if (distributed)
    return malformed(input.field, "true is not supported yet; this version "
                                  "plans replicated optimizer states");
  return Error::success();
}

static Error refuseStoredState(const Input &input, SideSpec &) {
  return malformed(input.field,
                   "an inventory or a plan is not supported yet; give a "
                   "configuration such as \"PP4TP2\"");
}

static const MemberReader<SideSpec> sideMembers[] = {
    {"pp", readGridSize<&Parallelism::pp>},
    {"tp", readGridSize<&Parallelism::tp>},
    {"dp", readGridSize<&Parallelism::dp>},
    {"cp", readUnplannedSize},
    {"ep", readUnplannedSize},
    {"etp", readUnplannedSize},
    {"vpp", readUnplannedSize},
    {"devices", readSideDevices},
    {"distributed_optimizer", readDistributedOptimizer},
    {"inventory", refuseStoredState},
    {"plan", refuseStoredState},
};

Error json::readSide(const Input &input, SideSpec &side) {
  side.given = true;
  side.where = input.field.where;
  if (input.node.kind == Kind::Object)
    return readMembers(input, sideMembers, side);
  if (input.node.kind != Kind::String)
    return expected(input, "a configuration such as \"PP4TP2\" or an object");
  return store(parseParallelism(input.node.text, input.field), side.parallel);
}
