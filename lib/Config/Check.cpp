//===- Check.cpp - Whether a request can be met ---------------------------===//

#include "etc/Config/Presets.h"
#include "etc/Config/Request.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace etc::config;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

/// A field as its source spells it: `model.heads` in a file, `--heads` on a
/// command line.
static Field fieldAt(const SourceLocation &where, StringRef name) {
  if (!where.isCommandLine())
    return {where, name.str()};
  // Only a file can list the devices of a side.
  size_t dot = name.rfind('.');
  StringRef option = dot == StringRef::npos ? name : name.drop_front(dot + 1);
  return {where, ("--" + option).str()};
}

//===----------------------------------------------------------------------===//
// Completeness
//===----------------------------------------------------------------------===//

static Error checkModelComplete(const Request &request) {
  const ModelSpec &model = request.model;
  const std::pair<StringRef, int64_t> sizes[] = {
      {"model.layers", model.layers}, {"model.hidden", model.hidden},
      {"model.heads", model.heads},   {"model.ffn", model.ffn},
      {"model.vocab", model.vocab},   {"model.seq", model.seq}};
  auto isMissing = [](const auto &size) { return size.second == 0; };
  if (llvm::all_of(sizes, isMissing))
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
// Sizes
//===----------------------------------------------------------------------===//

/// `use tp = 4 or tp = 8`: the divisors of `number` next to `wanted`.
static std::string useDivisor(StringRef name, int64_t number, int64_t wanted) {
  int64_t below = wanted - 1, above = wanted + 1;
  while (below > 0 && number % below != 0)
    --below;
  while (above < number && number % above != 0)
    ++above;
  std::string text = "use ";
  auto append = [&](int64_t value) {
    text += (text.size() > 4 ? " or " : "") + name.str() + " = " +
            std::to_string(value);
  };
  if (below > 0)
    append(below);
  if (above <= number)
    append(above);
  return text;
}

/// The elements of all tensors, and beyond any doubt more: plans count their
/// bytes, 14 an element and replica, in 63 bits.
static Error checkModelSize(const ModelSpec &model) {
  using Wide = unsigned __int128;
  Wide hidden = model.hidden;
  Wide layer = hidden * (4 * hidden + 2 * Wide(model.ffn) + 16) + model.ffn;
  Wide ends = hidden * (2 * (Wide(model.vocab) + (Wide(1) << 28)) + model.seq);
  Wide most = Wide(1) << 56;
  if (layer * model.layers + ends <= most)
    return Error::success();
  return unsatisfiable(fieldAt(model.where, "model"),
                       "expected a model of at most 2^56 elements, got more; "
                       "use fewer layers or smaller sizes");
}

static Error checkModel(const ModelSpec &model) {
  if (model.hidden % model.heads != 0)
    return unsatisfiable(
        fieldAt(model.where, "model.heads"),
        Twine(model.heads) +
            " attention heads do not divide hidden = " + Twine(model.hidden) +
            "; " + useDivisor("heads", model.hidden, model.heads));
  return checkModelSize(model);
}

static Error checkDivides(const Request &request, const SideSpec &side,
                          StringRef name) {
  const ModelSpec &model = request.model;
  int64_t pp = side.parallel.pp, tp = side.parallel.tp;
  Field field = fieldAt(side.where, name);
  if (model.layers % pp != 0)
    return unsatisfiable(field,
                         Twine(model.layers) +
                             " layers do not divide over pp = " + Twine(pp) +
                             "; " + useDivisor("pp", model.layers, pp));
  // The remedy must do for both axes. That hidden divides follows from the
  // heads, which divide it.
  int64_t common = std::gcd(model.heads, model.ffn);
  if (model.heads % tp != 0)
    return unsatisfiable(
        field, "self_attention.linear_qkv.weight: " + Twine(model.heads) +
                   " attention heads do not divide over tp = " + Twine(tp) +
                   "; " + useDivisor("tp", common, tp));
  if (model.ffn % tp != 0)
    return unsatisfiable(field,
                         "mlp.linear_fc1.weight: " + Twine(model.ffn) +
                             " rows do not divide over tp = " + Twine(tp) +
                             "; " + useDivisor("tp", common, tp));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

static std::string notInCluster(int64_t device, int64_t count) {
  return "device " + std::to_string(device) +
         " is not in the cluster; expected 0 to " + std::to_string(count - 1);
}

static Error checkStatus(const Request &request) {
  int64_t count = request.deviceCount();
  for (auto [devices, where, name] :
       {std::tuple(&request.failed, &request.failedWhere, "failed"),
        std::tuple(&request.leaving, &request.leavingWhere, "leaving")})
    for (int64_t device : *devices)
      if (device >= count)
        return unsatisfiable(fieldAt(*where, name),
                             notInCluster(device, count));
  for (int64_t device : request.leaving)
    if (llvm::is_contained(request.failed, device))
      return unsatisfiable(fieldAt(request.leavingWhere, "leaving"),
                           "device " + Twine(device) +
                               " has failed and can send nothing; list it "
                               "under failed alone");
  return Error::success();
}

static Error checkWorld(const Request &request, const SideSpec &side,
                        StringRef name) {
  int64_t count = request.deviceCount(), usable = count;
  if (&side == &request.curr)
    usable -= request.failed.size() + request.leaving.size();
  int64_t world = side.parallel.world();
  if (world <= usable)
    return Error::success();
  std::string text = side.parallel.str() + " needs " + std::to_string(world) +
                     " devices, but the cluster has " + std::to_string(count);
  if (usable != count)
    text +=
        ", of which " + std::to_string(count - usable) + " failed or leaving";
  return unsatisfiable(fieldAt(side.where, name),
                       text + "; use at most " + Twine(usable) +
                           " ranks or a larger cluster");
}

static Error checkSideDevices(const Request &request, const SideSpec &side,
                              StringRef name) {
  if (!side.devices)
    return Error::success();
  Field field = fieldAt(side.devicesWhere, (name + ".devices").str());
  int64_t count = request.deviceCount(), world = side.parallel.world();
  if (static_cast<int64_t>(side.devices->size()) != world)
    return unsatisfiable(field, "expected " + Twine(world) +
                                    " devices, one for each rank of " +
                                    side.parallel.str() + ", got " +
                                    Twine(side.devices->size()));
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
                                      " is failed or leaving; use one that is "
                                      "neither");
  }
  return Error::success();
}

Error etc::config::checkRequest(const Request &request) {
  if (Error error = checkComplete(request))
    return error;
  if (Error error = checkModel(request.model))
    return error;
  if (Error error = checkStatus(request))
    return error;
  for (auto [side, name] :
       {std::pair(&request.prev, "prev"), std::pair(&request.curr, "curr")})
    for (auto check : {checkDivides, checkWorld, checkSideDevices})
      if (Error error = check(request, *side, name))
        return error;
  return Error::success();
}
