//===- Families.cpp - The tensors of each family --------------------------===//

#include "Families.h"

using namespace etc;
using namespace etc::model;

static const std::string layerPrefix = "decoder.layers.{layer}.";

static TensorTemplate replicated(std::string name, Block block,
                                 std::vector<int64_t> shape) {
  TensorTemplate tensor;
  tensor.name = std::move(name);
  tensor.block = block;
  tensor.shape = std::move(shape);
  return tensor;
}

/// A tensor of every layer.
static TensorTemplate ofLayer(const char *name, std::vector<int64_t> shape,
                              int splitAxis) {
  TensorTemplate tensor =
      replicated(layerPrefix + name, Block::Layer, std::move(shape));
  tensor.splitAxis = splitAxis;
  return tensor;
}

/// A matrix with a row for each word.
static TensorTemplate ofVocabulary(std::string name, Block block,
                                   const config::ModelSpec &spec) {
  TensorTemplate tensor =
      replicated(std::move(name), block, {spec.vocab, spec.hidden});
  tensor.splitAxis = 0;
  tensor.vocabRows = true;
  return tensor;
}

/// GPT-2 and GPT-3: multi-head attention, learned positions, layer norms with
/// bias. The rows of linear_qkv are grouped by head ([q, k, v] for each), so
/// that a tensor-parallel shard is one interval of them.
static std::vector<TensorTemplate> gptTensors(const config::ModelSpec &spec) {
  constexpr int whole = -1;
  int64_t h = spec.hidden, f = spec.ffn;
  const std::string words = "embedding.word_embeddings.weight";
  TensorTemplate output =
      ofVocabulary("output_layer.weight", Block::Head, spec);
  if (spec.tiedEmbeddings)
    output.tiedTo = words;
  return {
      ofVocabulary(words, Block::Embed, spec),
      replicated("embedding.position_embeddings.weight", Block::Embed,
                 {spec.seq, h}),
      ofLayer("input_layernorm.weight", {h}, whole),
      ofLayer("input_layernorm.bias", {h}, whole),
      ofLayer("self_attention.linear_qkv.weight", {3 * h, h}, 0),
      ofLayer("self_attention.linear_qkv.bias", {3 * h}, 0),
      ofLayer("self_attention.linear_proj.weight", {h, h}, 1),
      ofLayer("self_attention.linear_proj.bias", {h}, whole),
      ofLayer("pre_mlp_layernorm.weight", {h}, whole),
      ofLayer("pre_mlp_layernorm.bias", {h}, whole),
      ofLayer("mlp.linear_fc1.weight", {f, h}, 0),
      ofLayer("mlp.linear_fc1.bias", {f}, 0),
      ofLayer("mlp.linear_fc2.weight", {h, f}, 1),
      ofLayer("mlp.linear_fc2.bias", {h}, whole),
      replicated("decoder.final_layernorm.weight", Block::Final, {h}),
      replicated("decoder.final_layernorm.bias", Block::Final, {h}),
      std::move(output),
  };
}

llvm::ArrayRef<Family> etc::model::families() {
  static const Family table[] = {{"gpt", gptTensors}};
  return table;
}
