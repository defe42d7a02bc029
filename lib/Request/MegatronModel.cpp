//===- MegatronModel.cpp - The model of a training script -----------------===//

#include "Arguments.h"
#include "MegatronArgs.h"
#include "etc/Request/States.h"
#include "etc/Request/Values.h"

using namespace etc::request;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static Traits traitsOf(const Arguments &arguments) {
  StringRef positions = arguments.text("position-embedding-type");
  bool rotary = arguments.has("use-rotary-position-embeddings");
  bool bias = !arguments.has("disable-bias-linear");
  bool local = arguments.text("transformer-impl") == "local";
  return {.learnedPositions =
              !rotary && (positions.empty() || positions == "learned_absolute"),
          .normBias = arguments.text("normalization") != "RMSNorm",
          .linearBias = bias,
          .qkvBias = bias || arguments.has("add-qkv-bias"),
          .gated = arguments.has("swiglu"),
          .qkNorm = arguments.has("qk-layernorm"),
          .latentAttention = arguments.has("multi-latent-attention"),
          .routerBias = arguments.has("moe-router-enable-expert-bias"),
          .sharedGate = arguments.has("moe-shared-expert-gate"),
          .fusedNames = !local,
          // Without experts it says nothing, and is as families have it.
          .groupedExperts = arguments.has("num-experts")
                                ? arguments.has("moe-grouped-gemm")
                                : !local};
}

/// --exp-avg-dtype and its like.
static Error readStateDTypes(const Arguments &arguments, ModelSpec &model) {
  for (auto [argument, state] : {std::pair("main-params-dtype", "master"),
                                 std::pair("exp-avg-dtype", "exp_avg"),
                                 std::pair("exp-avg-sq-dtype", "exp_avg_sq")}) {
    StringRef dtype = arguments.text(argument);
    if (dtype.empty() || dtype == "fp32")
      continue;
    if (dtype != "bf16" && dtype != "fp16")
      return malformed(arguments.fieldOf(argument),
                       "expected fp32, bf16 or fp16, got \"" + dtype + "\"");
    if (!arguments.has("use-precision-aware-optimizer"))
      return malformed(arguments.fieldOf(argument),
                       "Megatron takes it with "
                       "--use-precision-aware-optimizer only");
    model.stateDTypes.push_back({state, dtype.str()});
  }
  return Error::success();
}

static Error readStates(const Arguments &arguments, ModelSpec &model) {
  model.precision = arguments.has("bf16")   ? "bf16"
                    : arguments.has("fp16") ? "fp16"
                                            : "fp32";
  if (arguments.has("fp8-param-gather"))
    model.precision = arguments.text("fp8-recipe") == "mxfp8" ? "mxfp8" : "fp8";
  if (arguments.has("optimizer"))
    model.optimizer = arguments.text("optimizer").str();
  bool distributed = arguments.has("use-distributed-optimizer");
  if (model.optimizer == "dist_muon" ||
      (model.optimizer == "muon" && distributed))
    return malformed(arguments.fieldOf("optimizer"),
                     "whole matrices dealt out over data-parallel ranks are "
                     "not supported; use --optimizer muon without "
                     "--use-distributed-optimizer");
  if (Error error = checkWord(optimizerNames(), model.optimizer,
                              arguments.fieldOf("optimizer")))
    return error;
  if (arguments.has("use-precision-aware-optimizer") &&
      (model.optimizer != "adam" || !distributed))
    return malformed(arguments.fieldOf("use-precision-aware-optimizer"),
                     "Megatron takes it with --optimizer adam and "
                     "--use-distributed-optimizer only");
  return readStateDTypes(arguments, model);
}

/// --moe-layer-freq: 1, or a list such as ([0]*3+[1]*58).
static Error readLayerFrequency(const Arguments &arguments, ModelSpec &model) {
  StringRef text = arguments.text("moe-layer-freq");
  if (text.empty() || text == "1")
    return Error::success();
  StringRef rest = text;
  int64_t dense = 0, sparse = 0;
  bool parsed = rest.consume_front("([0]*") &&
                !rest.consumeInteger(10, dense) &&
                rest.consume_front("+[1]*") &&
                !rest.consumeInteger(10, sparse) && rest == ")";
  model.experts.denseLayers = dense;
  if (parsed && dense + sparse == model.layers)
    return Error::success();
  return malformed(arguments.fieldOf("moe-layer-freq"),
                   "expected 1, or the dense layers before the others, such "
                   "as ([0]*3+[1]*" +
                       Twine(std::max<int64_t>(1, model.layers - 3)) +
                       "); got \"" + text + "\"");
}

static Error checkCombinations(const Arguments &arguments,
                               const ModelSpec &model) {
  if (model.traits.groupedExperts && !model.traits.fusedNames)
    return malformed(arguments.fieldOf("moe-grouped-gemm"),
                     "with --transformer-impl local the experts of a rank "
                     "share one tensor, which is not supported; leave one of "
                     "the two out");
  if (model.traits.latentAttention && arguments.has("group-query-attention"))
    return malformed(arguments.fieldOf("group-query-attention"),
                     "Megatron refuses it with --multi-latent-attention; leave "
                     "one of the two out");
  if (model.mtpLayers && model.traits.learnedPositions)
    return malformed(arguments.fieldOf("mtp-num-layers"),
                     "Megatron takes it without learned positions only; use "
                     "--position-embedding-type rope");
  return Error::success();
}

/// What Megatron takes where an argument is absent.
static void applyDefaults(const Arguments &arguments, ModelSpec &model) {
  if (!arguments.has("group-query-attention"))
    model.kvHeads = 0;
  else if (!arguments.has("num-query-groups"))
    model.kvHeads = 1;
  if (!arguments.has("max-position-embeddings"))
    arguments.text("seq-length").getAsInteger(10, model.seq);
  if (!model.ffnGiven && model.traits.gated) {
    model.ffn = 4 * model.hidden * 2 / 3 / 64 * 64;
    model.ffnGiven = true;
  }
  if (model.experts.count && !model.experts.ffn)
    model.experts.ffn = model.ffnGiven ? model.ffn : 4 * model.hidden;
  if (!model.traits.latentAttention)
    model.latent = LatentSizes();
}

Error etc::request::readModel(Arguments &arguments, ModelSpec &model) {
  model = ModelSpec();
  model.name = "megatron";
  model.where = arguments.where();
  model.traits = traitsOf(arguments);
  model.tiedEmbeddings = !arguments.has("untie-embeddings-and-output-weights");
  model.ffnGiven = arguments.has("ffn-hidden-size");
  if (model.traits.latentAttention)
    model.latent = {
        .keyValueRank = 32, .plainDim = 128, .rotaryDim = 64, .valueDim = 128};
  const Number numbers[] = {
      {"num-layers", &model.layers, layerBounds},
      {"hidden-size", &model.hidden},
      {"num-attention-heads", &model.heads},
      {"num-query-groups", &model.kvHeads},
      {"kv-channels", &model.headDim},
      {"ffn-hidden-size", &model.ffn},
      {"vocab-size", &model.vocab},
      {"make-vocab-size-divisible-by", &model.vocabMultiple},
      {"max-position-embeddings", &model.seq},
      {"mtp-num-layers", &model.mtpLayers, {0, 16}},
      {"num-experts", &model.experts.count},
      {"moe-ffn-hidden-size", &model.experts.ffn},
      {"moe-shared-expert-intermediate-size", &model.experts.sharedFfn},
      {"q-lora-rank", &model.latent.queryRank},
      {"kv-lora-rank", &model.latent.keyValueRank},
      {"qk-head-dim", &model.latent.plainDim},
      {"qk-pos-emb-head-dim", &model.latent.rotaryDim},
      {"v-head-dim", &model.latent.valueDim},
  };
  if (Error error = arguments.numbers(numbers))
    return error;
  if (Error error = checkCombinations(arguments, model))
    return error;
  applyDefaults(arguments, model);
  if (Error error = readStates(arguments, model))
    return error;
  return readLayerFrequency(arguments, model);
}

Error etc::request::modelOfMegatronArgs(StringRef text, const Field &field,
                                        ModelSpec &model) {
  Arguments arguments(field);
  if (Error error = arguments.parse(text))
    return error;
  return readModel(arguments, model);
}
