//===- HuggingFace.cpp - Models from a config.json ------------------------===//

#include "HuggingFace.h"

#include "Reader.h"
#include "etc/Request/Families.h"

using namespace etc::request;
using namespace etc::request::json;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {
/// A size in a config.json, and where it goes.
struct Key {
  StringRef name;
  int64_t &(*size)(ModelSpec &);
  bool required = true;
  Bounds bounds = sizeBounds;
};

/// Of what a model need not have.
constexpr Bounds countBounds = {0, sizeBounds.most};

/// A value of `model_type`.
struct ModelType {
  StringRef name, family;
  ArrayRef<Key> keys;
  bool tiedByDefault = false;
};
} // namespace

#define ETC_SIZE(member) [](ModelSpec &m) -> int64_t & { return m.member; }

static const Key gpt2Keys[] = {
    {"n_layer", ETC_SIZE(layers), true, layerBounds},
    {"n_embd", ETC_SIZE(hidden)},
    {"n_head", ETC_SIZE(heads)},
    {"n_inner", ETC_SIZE(ffn), false},
    {"vocab_size", ETC_SIZE(vocab)},
    {"n_positions", ETC_SIZE(seq)},
};
static const Key commonKeys[] = {
    {"num_hidden_layers", ETC_SIZE(layers), true, layerBounds},
    {"hidden_size", ETC_SIZE(hidden)},
    {"num_attention_heads", ETC_SIZE(heads)},
    {"vocab_size", ETC_SIZE(vocab)},
};
static const Key headKeys[] = {
    {"num_key_value_heads", ETC_SIZE(kvHeads), false},
    {"head_dim", ETC_SIZE(headDim), false},
};
static const Key denseKeys[] = {{"intermediate_size", ETC_SIZE(ffn)}};
static const Key mixtralKeys[] = {
    {"intermediate_size", ETC_SIZE(experts.ffn)},
    {"num_local_experts", ETC_SIZE(experts.count)},
};
static const Key qwenMoeKeys[] = {
    {"intermediate_size", ETC_SIZE(ffn)},
    {"num_experts", ETC_SIZE(experts.count)},
    {"moe_intermediate_size", ETC_SIZE(experts.ffn)},
    {"shared_expert_intermediate_size", ETC_SIZE(experts.sharedFfn), false,
     countBounds},
};
// n_shared_experts is multiplied by the size of one below.
static const Key deepseekKeys[] = {
    {"intermediate_size", ETC_SIZE(ffn)},
    {"n_routed_experts", ETC_SIZE(experts.count)},
    {"moe_intermediate_size", ETC_SIZE(experts.ffn)},
    {"n_shared_experts", ETC_SIZE(experts.sharedFfn), false, countBounds},
    {"first_k_dense_replace", ETC_SIZE(experts.denseLayers), false,
     countBounds},
    {"q_lora_rank", ETC_SIZE(latent.queryRank), false, countBounds},
    {"kv_lora_rank", ETC_SIZE(latent.keyValueRank)},
    {"qk_nope_head_dim", ETC_SIZE(latent.plainDim)},
    {"qk_rope_head_dim", ETC_SIZE(latent.rotaryDim)},
    {"v_head_dim", ETC_SIZE(latent.valueDim)},
    {"num_nextn_predict_layers", ETC_SIZE(mtpLayers), false, {0, 16}},
};
#undef ETC_SIZE

static const ModelType modelTypes[] = {
    {"gpt2", "gpt", gpt2Keys, true},
    {"llama", "llama", denseKeys},
    {"mistral", "mistral", denseKeys},
    {"qwen2", "qwen2", denseKeys},
    {"qwen3", "qwen3", denseKeys},
    {"mixtral", "mixtral", mixtralKeys},
    {"qwen2_moe", "qwen2-moe", qwenMoeKeys},
    {"qwen3_moe", "qwen3-moe", qwenMoeKeys},
    {"deepseek_v3", "deepseek-v3", deepseekKeys},
    {"nemotron", "nemotron", denseKeys},
};

namespace {
/// Reads one config.json.
class HuggingFaceReader {
public:
  explicit HuggingFaceReader(const Input &root) : root(root) {}

  Expected<ModelSpec> read();

private:
  const Member *find(StringRef key) const;
  Field fieldOf(StringRef key) const { return {root.field.where, key.str()}; }
  Expected<const ModelType *> readType() const;
  Error readKeys(ArrayRef<Key> keys);
  Error readTied(bool byDefault);
  Error readDenseLayers();
  Error refuse() const;

  const Input &root;
  ModelSpec spec;
};
} // namespace

/// A member that is there, and not null.
const Member *HuggingFaceReader::find(StringRef key) const {
  for (const Member &member : root.node.members)
    if (member.key == key && member.value.kind != Kind::Null)
      return &member;
  return nullptr;
}

Expected<const ModelType *> HuggingFaceReader::readType() const {
  const Member *member = find("model_type");
  if (!member)
    return malformed(fieldOf("model_type"), "missing; expected the "
                                            "config.json of a Hugging Face "
                                            "model");
  Input input = memberOf(root, *member);
  if (member->value.kind != Kind::String)
    return expected(input, "a string");
  std::vector<StringRef> names;
  for (const ModelType &type : modelTypes) {
    if (type.name == member->value.text)
      return &type;
    names.push_back(type.name);
  }
  return malformed(input.field, "unknown value \"" + member->value.text +
                                    "\"; " +
                                    suggestName(member->value.text, names));
}

Error HuggingFaceReader::readKeys(ArrayRef<Key> keys) {
  for (const Key &key : keys) {
    const Member *member = find(key.name);
    if (!member && key.required)
      return malformed(fieldOf(key.name),
                       "missing; expected a positive integer");
    if (!member)
      continue;
    if (Error error =
            readInteger(memberOf(root, *member), key.bounds, key.size(spec)))
      return error;
  }
  return Error::success();
}

Error HuggingFaceReader::readTied(bool byDefault) {
  spec.tiedEmbeddings = byDefault;
  const Member *member = find("tie_word_embeddings");
  return member ? readBool(memberOf(root, *member), spec.tiedEmbeddings)
                : Error::success();
}

/// Qwen lists the layers without experts; Megatron has them first.
Error HuggingFaceReader::readDenseLayers() {
  const Member *member = find("mlp_only_layers");
  if (!member || spec.experts.denseLayers)
    return Error::success();
  std::vector<int64_t> layers;
  Input input = memberOf(root, *member);
  if (Error error = readIntegers(input, {0, layerBounds.most}, layers))
    return error;
  for (size_t i = 0; i < layers.size(); ++i)
    if (layers[i] != static_cast<int64_t>(i))
      return malformed(input.field,
                       "layers without experts are supported at the beginning "
                       "only: expected 0, 1, ..., got layer " +
                           llvm::Twine(layers[i]));
  spec.experts.denseLayers = static_cast<int64_t>(layers.size());
  return Error::success();
}

/// What would need tensors that the family does not have.
Error HuggingFaceReader::refuse() const {
  for (StringRef key : {"attention_bias", "mlp_bias"}) {
    const Member *member = find(key);
    if (member && member->value.kind == Kind::Bool && member->value.boolean &&
        !spec.traits.qkvBias)
      return malformed(memberOf(root, *member).field,
                       "true is not supported; expected false");
  }
  for (StringRef key : {"decoder_sparse_step", "moe_layer_freq"}) {
    const Member *member = find(key);
    if (member &&
        (member->value.kind != Kind::Integer || member->value.integer != 1))
      return malformed(memberOf(root, *member).field,
                       "expected 1 (experts in every layer behind the dense "
                       "ones), got " +
                           describe(member->value));
  }
  return Error::success();
}

Expected<ModelSpec> HuggingFaceReader::read() {
  if (root.node.kind != Kind::Object)
    return expected(root, "an object");
  auto type = readType();
  if (!type)
    return type.takeError();
  spec.name = (*type)->name.str();
  spec.family = (*type)->family.str();
  spec.traits = findFamily(spec.family)->traits;
  bool isGpt = spec.family == "gpt";
  for (ArrayRef<Key> keys :
       {isGpt ? ArrayRef<Key>() : ArrayRef(commonKeys),
        isGpt || spec.traits.latentAttention ? ArrayRef<Key>()
                                             : ArrayRef(headKeys),
        (*type)->keys})
    if (Error error = readKeys(keys))
      return error;
  if (spec.traits.latentAttention)
    spec.experts.sharedFfn *= spec.experts.ffn;
  spec.ffnGiven = spec.ffn != 0;
  if (Error error = readTied((*type)->tiedByDefault))
    return error;
  if (Error error = readDenseLayers())
    return error;
  if (Error error = refuse())
    return error;
  return std::move(spec);
}

Expected<ModelSpec> etc::request::parseHuggingFace(StringRef text,
                                                   StringRef fileName) {
  auto root = parse(text, fileName);
  if (!root)
    return root.takeError();
  Input input = {*root, {{fileName.str(), root->line, root->column}, ""}};
  return HuggingFaceReader(input).read();
}

Expected<ModelSpec> etc::request::readHuggingFace(StringRef path,
                                                  const Field &field) {
  constexpr uint64_t mostBytes = uint64_t(1) << 20;
  Expected<std::string> text = readFile(path, mostBytes, field);
  if (!text)
    return text.takeError();
  auto spec = parseHuggingFace(*text, path);
  if (spec)
    spec->where = field.where;
  return spec;
}
