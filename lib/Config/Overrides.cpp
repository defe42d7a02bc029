//===- Overrides.cpp - Requests from command-line options -----------------===//

#include "HuggingFace.h"
#include "MegatronArgs.h"
#include "Scalars.h"
#include "etc/Config/Presets.h"
#include "etc/Config/Values.h"

#include "llvm/ADT/StringExtras.h"

using namespace etc::config;

namespace {
/// Applies options to a request, each under the name `--option`.
class Overrider {
public:
  Overrider(Request &request, const ShorthandOptions &options)
      : request(request), options(options) {}

  llvm::Error run();

private:
  using Text = std::optional<std::string>;

  Field fieldOf(llvm::StringRef option) const {
    return {{options.program, 0, 0}, ("--" + option).str()};
  }

  llvm::Error applyModel();
  llvm::Error applySizes();
  llvm::Error applyTied();
  llvm::Error applySides();
  llvm::Error applyCluster();
  llvm::Error applyWords();

  llvm::Error size(const Text &text, llvm::StringRef option, Bounds bounds,
                   int64_t &target);
  llvm::Error side(const Text &text, llvm::StringRef option, SideSpec &target);
  llvm::Error devices(const Text &text, llvm::StringRef option,
                      std::vector<int64_t> &target, SourceLocation &where);
  llvm::Error word(const Text &text, llvm::StringRef option,
                   const Vocabulary &vocabulary, std::string &target);
  llvm::Error types();
  llvm::Error budget();

  Request &request;
  const ShorthandOptions &options;
};
} // namespace

llvm::Error Overrider::run() {
  using Step = llvm::Error (Overrider::*)();
  // The preset comes before the sizes that change it.
  static constexpr Step steps[] = {
      &Overrider::applyModel, &Overrider::applySizes,   &Overrider::applyTied,
      &Overrider::applySides, &Overrider::applyCluster, &Overrider::applyWords,
      &Overrider::types,      &Overrider::budget,
  };
  for (Step step : steps)
    if (llvm::Error error = (this->*step)())
      return error;
  settleRequest(request);
  return llvm::Error::success();
}

llvm::Error Overrider::applyModel() {
  if (options.megatronArgs)
    if (llvm::Error error = modelOfMegatronArgs(
            *options.megatronArgs, fieldOf("megatron-args"), request.model))
      return error;
  if (!options.model)
    return llvm::Error::success();
  Field field = fieldOf("model");
  ModelSpec model;
  if (llvm::Error error =
          llvm::StringRef(*options.model).ends_with(".json")
              ? store(readHuggingFace(*options.model, field), model)
              : store(lookupPreset(*options.model, field), model))
    return error;
  // Neither says how it is trained.
  model.precision = request.model.precision;
  model.optimizer = request.model.optimizer;
  model.stateDTypes = request.model.stateDTypes;
  request.model = std::move(model);
  return llvm::Error::success();
}

llvm::Error Overrider::size(const Text &text, llvm::StringRef option,
                            Bounds bounds, int64_t &target) {
  if (!text)
    return llvm::Error::success();
  return store(parseInteger(*text, bounds, fieldOf(option)), target);
}

llvm::Error Overrider::applySizes() {
  ModelSpec &model = request.model;
  struct {
    const Text &text;
    llvm::StringRef option;
    Bounds bounds;
    int64_t &target;
  } sizes[] = {
      {options.layers, "layers", layerBounds, model.layers},
      {options.hidden, "hidden", sizeBounds, model.hidden},
      {options.heads, "heads", sizeBounds, model.heads},
      {options.ffn, "ffn", sizeBounds, model.ffn},
      {options.vocab, "vocab", sizeBounds, model.vocab},
      {options.seq, "seq", sizeBounds, model.seq},
  };
  for (auto &entry : sizes)
    if (llvm::Error error =
            size(entry.text, entry.option, entry.bounds, entry.target))
      return error;
  model.ffnGiven |= options.ffn.has_value();
  return llvm::Error::success();
}

llvm::Error Overrider::applyTied() {
  if (!options.tied)
    return llvm::Error::success();
  if (*options.tied != "true" && *options.tied != "false")
    return malformed(fieldOf("tied"),
                     "expected true or false, got \"" + *options.tied + "\"");
  request.model.tiedEmbeddings = *options.tied == "true";
  return llvm::Error::success();
}

llvm::Error Overrider::side(const Text &text, llvm::StringRef option,
                            SideSpec &target) {
  if (!text)
    return llvm::Error::success();
  Field field = fieldOf(option);
  if (llvm::StringRef(*text).starts_with("--")) {
    target = SideSpec();
    return sideOfMegatronArgs(*text, field, target);
  }
  if (namesSideFile(*text)) {
    target = SideSpec();
    target.given = true;
    target.where = field.where;
    return sideOfFile(*text, field, target);
  }
  auto parallel = parseParallelism(*text, field);
  if (!parallel)
    return parallel.takeError();
  target = SideSpec();
  target.parallel = *parallel;
  target.given = true;
  target.where = field.where;
  return llvm::Error::success();
}

llvm::Error Overrider::applySides() {
  if (options.megatronArgs)
    if (llvm::Error error = sideOfMegatronArgs(
            *options.megatronArgs, fieldOf("megatron-args"), request.prev))
      return error;
  if (llvm::Error error = side(options.prev, "prev", request.prev))
    return error;
  return side(options.curr, "curr", request.curr);
}

llvm::Error Overrider::devices(const Text &text, llvm::StringRef option,
                               std::vector<int64_t> &target,
                               SourceLocation &where) {
  if (!text)
    return llvm::Error::success();
  Field field = fieldOf(option);
  where = field.where;
  auto list = parseIntegers(*text, deviceBounds, field);
  if (!list)
    return list.takeError();
  return store(sortedDevices(std::move(*list), field), target);
}

llvm::Error Overrider::applyCluster() {
  if (options.cluster) {
    Field field = fieldOf("cluster");
    request.clusterWhere = field.where;
    if (llvm::Error error =
            store(parseCluster(*options.cluster, field), request.nodes))
      return error;
  }
  if (llvm::Error error = devices(options.failed, "failed", request.failed,
                                  request.failedWhere))
    return error;
  return devices(options.leaving, "leaving", request.leaving,
                 request.leavingWhere);
}

llvm::Error Overrider::word(const Text &text, llvm::StringRef option,
                            const Vocabulary &vocabulary, std::string &target) {
  if (!text)
    return llvm::Error::success();
  target = *text;
  return checkWord(vocabulary, *text, fieldOf(option));
}

llvm::Error Overrider::applyWords() {
  adoptModel(request);
  if (options.policy)
    request.policyWhere = fieldOf("policy").where;
  if (options.place)
    request.placeWhere = fieldOf("place").where;
  if (llvm::Error error =
          word(options.derive, "derive", values().derive, request.derive))
    return error;
  if (llvm::Error error =
          word(options.policy, "policy", values().policy, request.policy))
    return error;
  if (llvm::Error error = word(options.precision, "precision",
                               values().precision, request.model.precision))
    return error;
  if (llvm::Error error = word(options.optimizer, "optimizer",
                               values().optimizer, request.model.optimizer))
    return error;
  if (llvm::Error error = word(options.objective, "objective",
                               values().objective, request.objective))
    return error;
  return word(options.place, "place", values().place, request.place);
}

llvm::Error Overrider::types() {
  if (!options.types)
    return llvm::Error::success();
  Field field = fieldOf("types");
  request.typesWhere = field.where;
  request.typesGiven = true;
  std::vector<std::string> names;
  if (!options.types->empty())
    for (llvm::StringRef name : llvm::split(*options.types, ','))
      names.push_back(name.str());
  return store(orderedTypes(request.model, names, field), request.types);
}

llvm::Error Overrider::budget() {
  if (!options.memoryBudget)
    return llvm::Error::success();
  Field field = fieldOf("memory-budget");
  request.budgetWhere = field.where;
  return store(parseMemoryBudget(*options.memoryBudget, field),
               request.memoryBudget);
}

llvm::Error etc::config::applyOverrides(Request &request,
                                        const ShorthandOptions &options) {
  return Overrider(request, options).run();
}

llvm::Expected<Request>
etc::config::requestFromOptions(const ShorthandOptions &options) {
  Request request;
  request.where.file = options.program;
  request.model.where = request.where;
  if (llvm::Error error = applyOverrides(request, options))
    return error;
  return request;
}
