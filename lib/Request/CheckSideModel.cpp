//===- CheckSideModel.cpp - Whether both sides train one model ------------===//

#include "Checks.h"

using namespace etc::request;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// A size of a model and the argument that gives it; 0 is not given.
struct NamedSize {
  StringRef argument;
  int64_t (*read)(const ModelSpec &);
};

/// A trait of a model and the argument that turns it on (or off).
struct NamedTrait {
  StringRef argument;
  bool Traits::*trait;
};
} // namespace

static int64_t innerSize(const ModelSpec &model) {
  return model.ffnGiven ? model.ffn : 4 * model.hidden;
}

static const NamedSize sizes[] = {
    {"num-layers", [](const ModelSpec &m) { return m.layers; }},
    {"hidden-size", [](const ModelSpec &m) { return m.hidden; }},
    {"num-attention-heads", [](const ModelSpec &m) { return m.heads; }},
    {"num-query-groups", [](const ModelSpec &m) { return m.keyValueHeads(); }},
    {"ffn-hidden-size", innerSize},
    {"vocab-size", [](const ModelSpec &m) { return m.vocab; }},
    {"make-vocab-size-divisible-by",
     [](const ModelSpec &m) { return m.vocabMultiple; }},
    {"mtp-num-layers", [](const ModelSpec &m) { return m.mtpLayers; }},
    {"num-experts", [](const ModelSpec &m) { return m.experts.count; }},
    {"moe-ffn-hidden-size", [](const ModelSpec &m) { return m.experts.ffn; }},
    {"moe-shared-expert-intermediate-size",
     [](const ModelSpec &m) { return m.experts.sharedFfn; }},
};

static const NamedTrait traits[] = {
    {"position-embedding-type", &Traits::learnedPositions},
    {"normalization", &Traits::normBias},
    {"disable-bias-linear", &Traits::linearBias},
    {"add-qkv-bias", &Traits::qkvBias},
    {"swiglu", &Traits::gated},
    {"qk-layernorm", &Traits::qkNorm},
    {"multi-latent-attention", &Traits::latentAttention},
    {"moe-router-enable-expert-bias", &Traits::routerBias},
    {"moe-shared-expert-gate", &Traits::sharedGate},
    {"transformer-impl", &Traits::fusedNames},
    {"moe-grouped-gemm", &Traits::groupedExperts},
};

Error etc::request::checkSideModel(const Request &request, const SideSpec &side,
                                   StringRef name) {
  const ModelSpec &model = request.model;
  if (!side.model || model.family == "table")
    return Error::success();
  Field field = fieldAt(side.where, name);
  for (const NamedSize &size : sizes) {
    int64_t ours = size.read(model), theirs = size.read(*side.model);
    if (theirs && ours != theirs)
      return unsatisfiable(field, "its training arguments have --" +
                                      size.argument + " " + Twine(theirs) +
                                      ", but the model has " + Twine(ours) +
                                      "; both sides train one model");
  }
  for (const NamedTrait &trait : traits)
    if (model.traits.*trait.trait != side.model->traits.*trait.trait)
      return unsatisfiable(field, "its training arguments say otherwise of --" +
                                      trait.argument +
                                      " than the model; both sides train one "
                                      "model");
  if (model.optimizer != side.model->optimizer ||
      model.precision != side.model->precision)
    return unsatisfiable(field, "its training arguments have precision " +
                                    side.model->precision + " and optimizer " +
                                    side.model->optimizer +
                                    ", but the request has " + model.precision +
                                    " and " + model.optimizer +
                                    "; both sides train one model");
  if (model.tiedEmbeddings != side.model->tiedEmbeddings)
    return unsatisfiable(field,
                         "its training arguments say otherwise of "
                         "--untie-embeddings-and-output-weights than the "
                         "model; both sides train one model");
  return Error::success();
}
