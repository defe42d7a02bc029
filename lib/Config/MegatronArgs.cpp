//===- MegatronArgs.cpp - Arguments of a Megatron training script ---------===//

#include "MegatronArgs.h"

#include "LayoutString.h"
#include "Scalars.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace etc::config;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// The arguments by name ("num-layers"), the last of a name deciding.
class Arguments {
public:
  explicit Arguments(const Field &field) : field(field) {}

  /// Reads them from a script's text; refuses those that change what is held
  /// in a way that no configuration here can say.
  Error parse(StringRef text);

  bool has(StringRef name) const { return values.contains(name); }
  /// The words behind a name up to the next argument, the first of them; or
  /// "".
  StringRef text(StringRef name) const;
  /// Stores a number if the argument is there.
  Error number(StringRef name, int64_t &target, Bounds bounds = sizeBounds);

  /// The argument as errors call it.
  Field fieldOf(StringRef name) const {
    return {field.where, field.name + ": --" + name.str()};
  }

private:
  const Field &field;
  llvm::StringMap<std::string> values;
};

/// A number and where it goes.
struct Number {
  StringRef name;
  int64_t *target;
  Bounds bounds = sizeBounds;
};
} // namespace

/// Words, of which quotes hold some together, as in a shell.
static Expected<std::vector<std::string>> splitWords(StringRef text,
                                                     const Field &field) {
  std::vector<std::string> words;
  bool open = false;
  char quote = 0;
  for (char c : text) {
    if (quote ? c == quote : c == '"' || c == '\'') {
      quote = quote ? 0 : c;
      continue;
    }
    if (!quote && (llvm::isSpace(c) || c == '\\')) {
      open = false;
      continue;
    }
    if (!open)
      words.emplace_back();
    open = true;
    words.back() += c;
  }
  if (quote)
    return malformed(field, "a " + Twine(quote) + " is not closed");
  return words;
}

namespace {
/// An argument that changes what is held in a way that no configuration can
/// say.
struct Refused {
  StringRef name, reason;
  bool isOfTensors = true; ///< then a table of tensors is the remedy
};
} // namespace

static const Refused refused[] = {
    {"use-torch-fsdp2", "it cuts parameters over data-parallel ranks", false},
    {"use-megatron-fsdp", "it cuts parameters over data-parallel ranks", false},
    {"use-custom-fsdp", "it cuts parameters over data-parallel ranks", false},
    {"fp4-param-gather", "it holds parameters in four bits", false},
    {"hybrid-layer-pattern", "its layers differ in kind"},
    {"hybrid-override-pattern", "its layers differ in kind"},
    {"heterogeneous-layers-config-path", "its layers differ in size"},
    {"experimental-attention-variant", "its attention has other tensors"},
    {"attention-output-gate", "its attention has other tensors"},
    {"moe-latent-size", "its experts have other tensors"},
    {"spec", "its modules are not known"},
};

Error Arguments::parse(StringRef text) {
  auto words = splitWords(text, field);
  if (!words)
    return words.takeError();
  std::string *last = nullptr;
  for (StringRef word : *words) {
    if (word.consume_front("--")) {
      auto [name, value] = word.split('=');
      std::string key = name.str();
      std::replace(key.begin(), key.end(), '_', '-');
      last = &values[key];
      *last = value.str();
    } else if (last && last->empty()) {
      *last = word.str();
    }
  }
  if (values.empty())
    return malformed(field, "expected arguments of a training script such as "
                            "--num-layers 32, got \"" +
                                text + "\"");
  for (const Refused &entry : refused)
    if (has(entry.name))
      return malformed(
          fieldOf(entry.name),
          "not supported, since " + entry.reason +
              (entry.isOfTensors ? "; list the tensors in model.tensors" : ""));
  return Error::success();
}

StringRef Arguments::text(StringRef name) const {
  auto found = values.find(name);
  return found == values.end() ? "" : StringRef(found->second);
}

Error Arguments::number(StringRef name, int64_t &target, Bounds bounds) {
  if (!has(name))
    return Error::success();
  return store(parseInteger(text(name), bounds, fieldOf(name)), target);
}

static Error readNumbers(Arguments &arguments, llvm::ArrayRef<Number> numbers) {
  for (const Number &number : numbers)
    if (Error error =
            arguments.number(number.name, *number.target, number.bounds))
      return error;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

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
          .groupedExperts = arguments.has("num-experts") &&
                            arguments.has("moe-grouped-gemm")};
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

static Error readModel(Arguments &arguments, const Field &field,
                       ModelSpec &model) {
  model = ModelSpec();
  model.name = "megatron";
  model.where = field.where;
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
  if (Error error = readNumbers(arguments, numbers))
    return error;
  if (model.traits.groupedExperts && !model.traits.fusedNames)
    return malformed(arguments.fieldOf("moe-grouped-gemm"),
                     "with --transformer-impl local the experts of a rank "
                     "share one tensor, which is not supported; leave one of "
                     "the two out");
  applyDefaults(arguments, model);
  return readLayerFrequency(arguments, model);
}

Error etc::config::modelOfMegatronArgs(StringRef text, const Field &field,
                                       ModelSpec &model) {
  Arguments arguments(field);
  if (Error error = arguments.parse(text))
    return error;
  return readModel(arguments, field, model);
}

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

/// The ranks of the job; 0 if the arguments don't say.
static Expected<int64_t> worldOf(Arguments &arguments) {
  int64_t nodes = 1, perNode = 0, world = 0;
  const Number numbers[] = {{"nnodes", &nodes, gridBounds},
                            {"nproc-per-node", &perNode, gridBounds},
                            {"world-size", &world, gridBounds}};
  if (Error error = readNumbers(arguments, numbers))
    return error;
  return world ? world : nodes * perNode;
}

static Error readChunks(Arguments &arguments, SideSpec &side) {
  StringRef ways[] = {"num-virtual-stages-per-pipeline-rank",
                      "num-layers-per-virtual-pipeline-stage",
                      "pipeline-model-parallel-layout"};
  if (llvm::count_if(ways, [&](StringRef way) { return arguments.has(way); }) >
      1)
    return malformed(arguments.fieldOf(ways[1]),
                     "Megatron takes one of --" + ways[0] + ", --" + ways[1] +
                         " and --" + ways[2] + ", got more");
  if (arguments.has(ways[1]) &&
      (arguments.has("decoder-first-pipeline-num-layers") ||
       arguments.has("decoder-last-pipeline-num-layers")))
    return malformed(arguments.fieldOf(ways[1]),
                     "Megatron takes it with even stages only; use --" +
                         ways[0]);
  if (Error error = arguments.number(ways[0], side.parallel.vpp, gridBounds))
    return error;
  return arguments.number(ways[1], side.layersPerChunk, layerBounds);
}

static Error readSplit(Arguments &arguments, PipelineSplit &split) {
  constexpr Bounds bounds = {0, layerBounds.most};
  for (auto [name, target] :
       {std::pair("decoder-first-pipeline-num-layers", &split.firstStage),
        std::pair("decoder-last-pipeline-num-layers", &split.lastStage)})
    if (arguments.has(name))
      if (Error error = arguments.number(name, target->emplace(), bounds))
        return error;
  split.accountForEmbedding =
      arguments.has("account-for-embedding-in-pipeline-split");
  split.accountForLoss = arguments.has("account-for-loss-in-pipeline-split");
  split.layout = arguments.text("pipeline-model-parallel-layout").str();
  if (split.layout.empty())
    return Error::success();
  return parseLayoutString(split.layout,
                           arguments.fieldOf("pipeline-model-parallel-layout"))
      .takeError();
}

Error etc::config::sideOfMegatronArgs(StringRef text, const Field &field,
                                      SideSpec &side) {
  Arguments arguments(field);
  if (Error error = arguments.parse(text))
    return error;
  side.given = true;
  side.where = field.where;
  Parallelism &grid = side.parallel;
  int64_t instances = 1;
  const Number numbers[] = {
      {"tensor-model-parallel-size", &grid.tp, gridBounds},
      {"pipeline-model-parallel-size", &grid.pp, gridBounds},
      {"context-parallel-size", &grid.cp, gridBounds},
      {"expert-model-parallel-size", &grid.ep, gridBounds},
      {"expert-tensor-parallel-size", &grid.etp, gridBounds},
      {"num-distributed-optimizer-instances", &instances, gridBounds},
  };
  if (Error error = readNumbers(arguments, numbers))
    return error;
  if (instances > 1)
    return malformed(
        arguments.fieldOf("num-distributed-optimizer-instances"),
        "optimizer states that repeat inside of data-parallel groups are not "
        "supported; use 1");
  if (Error error = readChunks(arguments, side))
    return error;
  grid.distributedOptimizer = arguments.has("use-distributed-optimizer");
  if (arguments.has("use-tp-pp-dp-mapping"))
    grid.order = RankOrder::TpCpEpPpDp;
  auto world = worldOf(arguments);
  if (!world)
    return world.takeError();
  int64_t size = grid.tp * grid.cp;
  if (*world && *world % (size * grid.pp) != 0)
    return malformed(
        field, Twine(*world) + " ranks do not divide by tp * cp * pp = " +
                   Twine(size * grid.pp) + "; use --world-size " +
                   Twine((*world / (size * grid.pp) + 1) * size * grid.pp));
  if (arguments.has("num-layers")) {
    auto model = std::make_shared<ModelSpec>();
    if (Error error = readModel(arguments, field, *model))
      return error;
    side.model = std::move(model);
  }
  side.fillsCluster = *world == 0;
  grid.dp = *world ? *world / (size * grid.pp) : 1;
  return readSplit(arguments, side.split);
}
