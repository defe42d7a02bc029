//===- Check.cpp - Whether a request can be met ---------------------------===//

#include "Checks.h"
#include "Scalars.h"
#include "etc/Request/Fields.h"
#include "etc/Request/Presets.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace etc::request;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Completeness
//===----------------------------------------------------------------------===//

static Error checkModelComplete(const Request &request) {
  const ModelSpec &model = request.model;
  if (model.family == "table")
    return checkTable(model);
  bool seq = model.traits.learnedPositions;
  const std::pair<StringRef, int64_t> sizes[] = {
      {"model.layers", model.layers}, {"model.hidden", model.hidden},
      {"model.heads", model.heads},   {"model.ffn", model.ffn},
      {"model.vocab", model.vocab},   {"model.seq", seq ? model.seq : 1}};
  if (model.layers == 0 && model.hidden == 0 && model.heads == 0 &&
      model.vocab == 0 && model.seq == 0)
    return malformed(fieldAt(request.where, "model"),
                     "missing; expected the sizes of a model, or a preset: " +
                         llvm::join(presetNames(), ", "));
  for (const auto &[name, size] : sizes)
    if (size == 0)
      return malformed(fieldAt(model.where, name),
                       "missing; expected a positive integer");
  return Error::success();
}

static Error checkComplete(const Request &request) {
  if (Error error = checkModelComplete(request))
    return error;
  for (auto [side, name] :
       {std::pair(&request.prev, "prev"), std::pair(&request.curr, "curr")})
    if (!side->given)
      return malformed(fieldAt(request.where, name),
                       "missing; expected a configuration such as PP4TP2");
  if (request.nodes.empty())
    return malformed(fieldAt(request.where, "cluster"),
                     "missing; expected the nodes and the devices of each");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

static std::string notInCluster(int64_t device, int64_t count) {
  return "device " + std::to_string(device) +
         " is not in the cluster; expected 0 to " + std::to_string(count - 1);
}

static Error checkInCluster(const Request &request,
                            llvm::ArrayRef<int64_t> devices,
                            const Field &field) {
  int64_t count = request.deviceCount();
  for (int64_t device : devices)
    if (device >= count)
      return unsatisfiable(field, notInCluster(device, count));
  return Error::success();
}

Error etc::request::checkFailed(const Request &request, const Field &field) {
  return checkInCluster(request, request.failed, field);
}

Error etc::request::checkDraining(const Request &request, const Field &field) {
  if (Error error = checkInCluster(request, request.draining, field))
    return error;
  for (int64_t device : request.draining)
    if (llvm::is_contained(request.failed, device))
      return unsatisfiable(field, "device " + Twine(device) +
                                      " has failed and can send nothing; list "
                                      "it under failed alone");
  return Error::success();
}

/// They were given for another optimizer, perhaps.
Error etc::request::checkTypes(const Request &request, const Field &field) {
  for (StringRef type : request.types)
    if (Error error = checkType(request.model, type, field))
      return error;
  return Error::success();
}

static Error checkFields(const Request &request) {
  for (const RequestField &field : requestFields()) {
    if (!field.check)
      continue;
    const SourceLocation &where = request.whereOf(field.name);
    const std::string name =
        where.isCommandLine() ? "--" + field.option() : field.name.str();
    if (Error error = field.check(request, {where, name}))
      return error;
  }
  return Error::success();
}

static Error checkWorld(const Request &request, const SideSpec &side,
                        StringRef name) {
  int64_t count = request.deviceCount(), usable = count;
  if (&side == &request.curr)
    usable -= request.failed.size() + request.draining.size();
  int64_t world = side.parallel.world();
  if (world <= usable)
    return Error::success();
  std::string text = side.str() + " needs " + std::to_string(world) +
                     " devices, but the cluster has " + std::to_string(count);
  if (usable != count)
    text +=
        ", of which " + std::to_string(count - usable) + " failed or draining";
  const std::string fewer =
      usable > 0 ? "at most " + std::to_string(usable) + " ranks or " : "";
  return unsatisfiable(fieldAt(side.where, name),
                       text + "; use " + fewer + "a larger cluster");
}

static Error checkSideDevices(const Request &request, const SideSpec &side,
                              StringRef name) {
  if (!side.devices)
    return Error::success();
  Field field = side.inventory
                    ? fieldAt(side.where, name)
                    : fieldAt(side.devicesWhere, (name + ".devices").str());
  int64_t count = request.deviceCount(), world = side.parallel.world();
  if (static_cast<int64_t>(side.devices->size()) != world)
    return unsatisfiable(
        field, "expected " + Twine(world) + " devices, one for each rank of " +
                   side.str() + ", got " + Twine(side.devices->size()));
  llvm::DenseSet<int64_t> seen;
  for (int64_t device : *side.devices) {
    if (device >= count)
      return unsatisfiable(field, notInCluster(device, count));
    if (!seen.insert(device).second)
      return unsatisfiable(field, "device " + Twine(device) +
                                      " is listed twice; a device takes one "
                                      "rank");
    if (&side == &request.curr && !request.isUsable(device))
      return unsatisfiable(field, "device " + Twine(device) +
                                      " is failed or draining; use one that is "
                                      "neither");
  }
  return Error::success();
}

static Error checkPlannedModel(const Request &request, const SideSpec &side,
                               StringRef name) {
  if (side.plannedModel.empty() || side.plannedModel == request.model.name)
    return Error::success();
  return unsatisfiable(fieldAt(side.where, name),
                       "the plan is of the model " + side.plannedModel +
                           ", the request of " + request.model.name +
                           "; both must be of one");
}

Error etc::request::checkRequest(const Request &request) {
  if (Error error = checkComplete(request))
    return error;
  if (Error error = checkModel(request.model))
    return error;
  for (auto [side, name] :
       {std::pair(&request.prev, "prev"), std::pair(&request.curr, "curr")})
    for (auto check : {checkPlannedModel, checkSideModel, checkInventoryModel})
      if (!side->inventory || check == checkInventoryModel)
        if (Error error = check(request, *side, name))
          return error;
  if (Error error = checkFields(request))
    return error;
  for (auto [side, name] :
       {std::pair(&request.prev, "prev"), std::pair(&request.curr, "curr")})
    for (auto check : {checkParallel, checkWorld, checkSideDevices})
      if (check != checkParallel || !side->inventory)
        if (Error error = check(request, *side, name))
          return error;
  return Error::success();
}
