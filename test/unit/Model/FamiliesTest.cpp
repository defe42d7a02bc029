//===- FamiliesTest.cpp - The tensors of each family ----------------------===//

#include "etc/Model/Model.h"
#include "etc/Request/Presets.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

using namespace etc;
using namespace etc::model;
using Shape = std::vector<int64_t>;

static const request::Parallelism alone = {1, 1, 1};

static request::ModelSpec specOf(llvm::StringRef preset) {
  return llvm::cantFail(request::lookupPreset(preset, request::Field()));
}

static Model modelOf(const request::ModelSpec &spec, bool distributed = false) {
  return buildModel(spec, request::Request().types, distributed);
}

static const TensorTemplate &find(const Model &model, llvm::StringRef name) {
  std::optional<unsigned> index = model.findTensor(name);
  EXPECT_TRUE(index) << name.str();
  return model.tensors[index.value_or(0)];
}

// The numbers of parameters in the publishers' checkpoints on Hugging Face:
// meta-llama/Meta-Llama-3-8B, -70B, Llama-3.1-405B, mistralai/Mixtral-8x7B-v0.1
// and Qwen/Qwen3-235B-A22B ("total_parameters", or the sum of the shapes in
// model.safetensors.index.json).
TEST(Families, PublishedParameterCounts) {
  auto count = [](llvm::StringRef preset) {
    return parameterCount(modelOf(specOf(preset)), alone);
  };
  EXPECT_EQ(count("llama3-8b"), 8030261248);
  EXPECT_EQ(count("llama3-70b"), 70553706496);
  EXPECT_EQ(count("llama3-405b"), 405853388800);
  EXPECT_EQ(count("mixtral-8x7b"), 46702792704);
  EXPECT_EQ(count("qwen3-235b-a22b"), 235093634560);
}

// The README of DeepSeek-V3: 671B of main model weights and 14B of the module
// that predicts one more token, of which 1.85B are copies of the embedding and
// the output layer, 0.93B each. Exactly, without that module: 671 026 419 200
// with the biases of the routers (58 x 256), which Megatron does not count as
// parameters.
TEST(Families, PublishedParameterCountOfDeepSeekV3) {
  request::ModelSpec spec = specOf("deepseek-v3");
  spec.mtpLayers = 0;
  EXPECT_EQ(parameterCount(modelOf(spec), alone), 671026419200 - 58 * 256);
  spec.mtpLayers = 1;
  int64_t copies = 2 * spec.vocab * spec.hidden;
  EXPECT_NEAR(parameterCount(modelOf(spec), alone) + copies, 685e9, 0.6e9);
}

// Table 1 of "Nemotron-4 340B Technical Report" (arXiv 2406.11704): 9.4B of
// embeddings, 331.6B besides.
TEST(Families, PublishedParameterCountOfNemotron4) {
  request::ModelSpec spec = specOf("nemotron4-340b");
  int64_t embeddings = 2 * spec.vocab * spec.hidden;
  int64_t others = parameterCount(modelOf(spec), alone) - embeddings;
  EXPECT_NEAR(static_cast<double>(embeddings), 9.4e9, 0.05e9);
  EXPECT_NEAR(static_cast<double>(others), 331.6e9, 0.05e9);
}

TEST(Families, TensorsOfLlama) {
  Model model = modelOf(specOf("llama3-8b"));
  const std::string layer = "decoder.layers.{layer}.";
  std::vector<std::string> names;
  for (const TensorTemplate &tensor : model.tensors)
    names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "embedding.word_embeddings.weight",
                       layer + "self_attention.linear_qkv.layer_norm_weight",
                       layer + "self_attention.linear_qkv.weight",
                       layer + "self_attention.linear_proj.weight",
                       layer + "mlp.linear_fc1.layer_norm_weight",
                       layer + "mlp.linear_fc1.weight",
                       layer + "mlp.linear_fc2.weight",
                       "decoder.final_layernorm.weight",
                       "output_layer.weight",
                   }));
  // 32 queries, 8 keys and 8 values of 128 channels.
  const TensorTemplate &qkv =
      find(model, layer + "self_attention.linear_qkv.weight");
  EXPECT_EQ(qkv.shape, (Shape{48 * 128, 4096}));
  const TensorTemplate &fc1 = find(model, layer + "mlp.linear_fc1.weight");
  EXPECT_EQ(fc1.shape, (Shape{2, 14336, 4096}));
  EXPECT_EQ(fc1.view, (Shape{28672, 4096}));
  EXPECT_EQ(fc1.splitAxis, 1);
  EXPECT_EQ(find(model, "output_layer.weight").tiedTo, "");
}

TEST(Families, LocalNames) {
  request::ModelSpec spec = specOf("llama3-8b");
  spec.traits.fusedNames = false;
  Model model = modelOf(spec);
  EXPECT_TRUE(
      model.findTensor("decoder.layers.{layer}.input_layernorm.weight"));
  EXPECT_TRUE(
      model.findTensor("decoder.layers.{layer}.pre_mlp_layernorm.weight"));
  EXPECT_FALSE(model.findTensor("decoder.layers.{layer}.input_layernorm.bias"));
  EXPECT_EQ(parameterCount(model, alone), 8030261248);
}

TEST(Families, BiasesAndNormsOfQwen) {
  request::ModelSpec spec = specOf("llama3-8b");
  spec.traits = {.qkvBias = true, .gated = true, .qkNorm = true};
  Model model = modelOf(spec);
  const std::string attention = "decoder.layers.{layer}.self_attention.";
  EXPECT_EQ(find(model, attention + "linear_qkv.bias").shape, (Shape{6144}));
  EXPECT_FALSE(model.findTensor(attention + "linear_proj.bias"));
  EXPECT_EQ(find(model, attention + "q_layernorm.weight").shape, (Shape{128}));
  EXPECT_EQ(find(model, attention + "k_layernorm.weight").splitAxis, -1);
}

TEST(Families, Experts) {
  Model model = modelOf(specOf("qwen3-235b-a22b"));
  EXPECT_EQ(model.experts, 128);
  const std::string mlp = "decoder.layers.{layer}.mlp.";
  EXPECT_EQ(find(model, mlp + "router.weight").shape, (Shape{128, 4096}));
  const TensorTemplate &fc1 =
      find(model, mlp + "experts.linear_fc1.weight{expert}");
  EXPECT_TRUE(fc1.ofExpert);
  EXPECT_EQ(fc1.shape, (Shape{2, 1536, 4096}));
  EXPECT_EQ(tensorName(fc1, 3, 77),
            "decoder.layers.3.mlp.experts.linear_fc1.weight77");
  EXPECT_FALSE(model.findTensor(mlp + "linear_fc1.weight"));
}

TEST(Families, DeepSeek) {
  Model model = modelOf(specOf("deepseek-v3"));
  const std::string layer = "decoder.layers.{layer}.";
  const TensorTemplate &dense = find(model, layer + "mlp.linear_fc1.weight");
  EXPECT_EQ(dense.layers, (Span{0, 3}));
  EXPECT_TRUE(hasLayer(dense, 2));
  EXPECT_FALSE(hasLayer(dense, 3));
  const TensorTemplate &bias = find(model, layer + "mlp.router.expert_bias");
  EXPECT_EQ(bias.layers, (Span{3, 61}));
  EXPECT_EQ(bias.types, (std::vector<std::string>{"buffer"}));
  EXPECT_EQ(model.bytesPerElement(bias), 4);
  EXPECT_EQ(model.bytesPerElement(dense), 14);
  EXPECT_EQ(model.types.back().name, "buffer");
  EXPECT_EQ(
      find(model, layer + "self_attention.linear_kv_down_proj.weight").shape,
      (Shape{576, 7168}));
  EXPECT_EQ(find(model, "mtp.layers.0.eh_proj.weight").shape,
            (Shape{7168, 14336}));
  EXPECT_EQ(find(model, "mtp.layers.0.transformer_layer.mlp.experts.linear_fc2."
                        "weight{expert}")
                .block,
            Block::Mtp);
}

TEST(Families, TheStageOfMultiTokenPredictionHasAnEmbedding) {
  Model model = modelOf(specOf("deepseek-v3"));
  const TensorTemplate &copy =
      find(model, "mtp.embedding.word_embeddings.weight");
  EXPECT_EQ(copy.tiedTo, "embedding.word_embeddings.weight");
  EXPECT_FALSE(existsOn(copy, alone));
  EXPECT_TRUE(existsOn(copy, {2, 1, 1}));
  request::Parallelism first = {2, 1, 1};
  first.mtpStage = 0;
  EXPECT_FALSE(existsOn(copy, first));
}

// Whatever the model, parameters in full and states in flat ranges are two
// templates of one name, side by side; what is no parameter has one.
TEST(Families, TheDistributedOptimizerHasPlanes) {
  for (llvm::StringRef preset : {"gpt2", "qwen3-235b-a22b", "deepseek-v3"}) {
    Model model = modelOf(specOf(preset), true);
    for (size_t i = 0; i < model.tensors.size(); ++i) {
      const TensorTemplate &tensor = model.tensors[i];
      if (tensor.types.front() == "buffer")
        continue;
      EXPECT_EQ(tensor.types, std::vector<std::string>{"param"});
      EXPECT_FALSE(tensor.flat);
      const TensorTemplate &sharded = model.tensors[++i];
      EXPECT_EQ(sharded.name, tensor.name);
      EXPECT_TRUE(sharded.flat);
      EXPECT_EQ(sharded.types,
                (std::vector<std::string>{"master", "exp_avg", "exp_avg_sq"}));
    }
    EXPECT_EQ(parameterCount(model, alone),
              parameterCount(modelOf(specOf(preset)), alone));
  }
}

TEST(Families, OnlyTheDistributedOptimizerDependsOnTheOrderOfModules) {
  auto positionOf = [](const Model &model, llvm::StringRef name) {
    return *model.findTensor(("decoder.layers.{layer}." + name).str());
  };
  const char *qkv = "self_attention.linear_qkv.weight";
  const char *proj = "self_attention.linear_proj.weight";
  Model forward = modelOf(specOf("gpt2"));
  EXPECT_LT(positionOf(forward, qkv), positionOf(forward, proj));
  Model modules = modelOf(specOf("gpt2"), true);
  EXPECT_GT(positionOf(modules, qkv), positionOf(modules, proj));
}
