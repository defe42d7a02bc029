//===- ModelTest.cpp - The meta model -------------------------------------===//

#include "etc/Model/Model.h"

#include "etc/Request/Presets.h"
#include "etc/Request/States.h"
#include "etc/Request/Values.h"

#include "llvm/ADT/StringExtras.h"

#include "gtest/gtest.h"

using namespace etc;
using namespace etc::model;

static const request::Parallelism alone = {1, 1, 1};
static const request::Parallelism twoStages = {2, 1, 1};

static Model modelOf(llvm::StringRef preset) {
  return buildModel(
      llvm::cantFail(request::lookupPreset(preset, request::Field())),
      request::Request().types);
}

// The numbers of elements of the checkpoints openai-community/gpt2, -medium,
// -large and -xl on Hugging Face, which count the tied matrix once.
TEST(Model, PublishedParameterCounts) {
  EXPECT_EQ(parameterCount(modelOf("gpt2"), alone), 124439808);
  EXPECT_EQ(parameterCount(modelOf("gpt2-medium"), alone), 354823168);
  EXPECT_EQ(parameterCount(modelOf("gpt2-large"), alone), 774030080);
  EXPECT_EQ(parameterCount(modelOf("gpt2-xl"), alone), 1557611200);
}

TEST(Model, TheOtherPresetsAreAsLargeAsTheirNames) {
  auto billions = [](llvm::StringRef preset) {
    return static_cast<double>(parameterCount(modelOf(preset), alone)) / 1e9;
  };
  EXPECT_NEAR(billions("gpt3-1.3b"), 1.3, 0.05);
  EXPECT_NEAR(billions("gpt3-2.7b"), 2.7, 0.06);
  EXPECT_NEAR(billions("gpt3-6.7b"), 6.7, 0.06);
  EXPECT_NEAR(billions("gpt3-13b"), 13, 0.2);
  EXPECT_NEAR(billions("gpt3-175b"), 175, 0.5);
}

TEST(Model, VocabularyPadding) {
  EXPECT_EQ(paddedVocab(50257, 1), 50304);
  EXPECT_EQ(paddedVocab(50257, 4), 50688);
  EXPECT_EQ(paddedVocab(50257, 8), 51200);
  EXPECT_EQ(paddedVocab(51200, 8), 51200);
}

TEST(Model, TheTiedCopyExistsBetweenStagesOnly) {
  Model model = modelOf("gpt2");
  unsigned output = *model.findTensor("output_layer.weight");
  EXPECT_EQ(model.tensors[output].tiedTo, "embedding.word_embeddings.weight");
  EXPECT_FALSE(existsOn(model.tensors[output], alone));
  EXPECT_TRUE(existsOn(model.tensors[output], twoStages));
  EXPECT_EQ(parameterCount(model, twoStages),
            parameterCount(model, alone) + 50257 * 768);
}

TEST(Model, AnUntiedOutputLayerAlwaysExists) {
  request::ModelSpec spec =
      llvm::cantFail(request::lookupPreset("gpt2", request::Field()));
  spec.tiedEmbeddings = false;
  Model model = buildModel(spec, request::Request().types);
  EXPECT_TRUE(existsOn(model.tensors.back(), alone));
  EXPECT_EQ(parameterCount(model, alone), parameterCount(model, twoStages));
}

TEST(Model, TensorsOfGpt2) {
  Model model = modelOf("gpt2");
  auto row = [&](llvm::StringRef name) {
    const TensorTemplate &tensor = model.tensors[*model.findTensor(name)];
    return std::tuple(tensor.shape, tensor.splitAxis);
  };
  using Shape = std::vector<int64_t>;
  const std::string layer = "decoder.layers.{layer}.";
  EXPECT_EQ(model.tensors.size(), 17u);
  EXPECT_EQ(row("embedding.position_embeddings.weight"),
            std::tuple(Shape{1024, 768}, -1));
  EXPECT_EQ(row(layer + "self_attention.linear_qkv.weight"),
            std::tuple(Shape{2304, 768}, 0));
  EXPECT_EQ(row(layer + "self_attention.linear_qkv.bias"),
            std::tuple(Shape{2304}, 0));
  EXPECT_EQ(row(layer + "self_attention.linear_proj.weight"),
            std::tuple(Shape{768, 768}, 1));
  EXPECT_EQ(row(layer + "self_attention.linear_proj.bias"),
            std::tuple(Shape{768}, -1));
  EXPECT_EQ(row(layer + "mlp.linear_fc1.weight"),
            std::tuple(Shape{3072, 768}, 0));
  EXPECT_EQ(row(layer + "mlp.linear_fc2.weight"),
            std::tuple(Shape{768, 3072}, 1));
  EXPECT_EQ(row(layer + "mlp.linear_fc2.bias"), std::tuple(Shape{768}, -1));
  EXPECT_FALSE(model.findTensor("decoder.layers.0.mlp.linear_fc1.weight"));
}

TEST(Model, TensorsStandInForwardOrder) {
  Block last = Block::Embed;
  for (const TensorTemplate &tensor : modelOf("gpt2").tensors) {
    EXPECT_LE(last, tensor.block) << tensor.name;
    last = tensor.block;
  }
}

TEST(Model, NamesAreGlobal) {
  Model model = modelOf("gpt2");
  unsigned fc1 =
      *model.findTensor("decoder.layers.{layer}.mlp.linear_fc1.weight");
  EXPECT_EQ(tensorName(model.tensors[fc1], 11),
            "decoder.layers.11.mlp.linear_fc1.weight");
  EXPECT_EQ(tensorName(model.tensors.front(), -1),
            "embedding.word_embeddings.weight");
}

TEST(Model, ShapesArePaddedBySide) {
  Model model = modelOf("gpt2");
  const TensorTemplate &words = model.tensors.front();
  EXPECT_EQ(words.shape, (std::vector<int64_t>{50257, 768}));
  EXPECT_EQ(shapeOn(words, {1, 4, 1}), (std::vector<int64_t>{50688, 768}));
}

TEST(Model, Types) {
  Model model = modelOf("gpt2");
  ASSERT_EQ(model.types.size(), 4u);
  EXPECT_EQ(model.types[0].name, "param");
  EXPECT_EQ(model.types[0].dtype, DType::BF16);
  EXPECT_EQ(model.types[0].derivedFrom, "master");
  EXPECT_EQ(model.bytesPerElement(), 14);
  EXPECT_EQ(dtypeName(DType::BF16), "bf16");
  EXPECT_EQ(byteSize(DType::I64), 8);
  EXPECT_EQ(dtypeName(DType::U8), "u8");
}

/// "param,master [2304, 768]" and so on: the templates of a tensor.
static std::vector<std::string> planesOf(const Model &model,
                                         llvm::StringRef name) {
  std::vector<std::string> planes;
  for (const TensorTemplate &tensor : model.tensors) {
    if (tensor.name != name)
      continue;
    std::string text = llvm::join(tensor.types, ",") + " [";
    for (int64_t extent : tensor.shape)
      text += std::to_string(extent) + " ";
    planes.push_back(text + "] split " + std::to_string(tensor.splitAxis));
  }
  return planes;
}

static Model trained(const char *optimizer) {
  request::ModelSpec spec =
      llvm::cantFail(request::lookupPreset("llama3-8b", request::Field()));
  spec.optimizer = optimizer;
  std::vector<std::string> types;
  for (llvm::StringRef name : request::typeNames(spec))
    types.push_back(name.str());
  return buildModel(spec, types);
}

// Muon has the matrices of layers, Adam all others: the vocabulary's two, and
// vectors.
TEST(Model, StatesOfMuon) {
  Model model = trained("muon");
  using Planes = std::vector<std::string>;
  EXPECT_EQ(planesOf(model, "embedding.word_embeddings.weight"),
            Planes{"param,master,exp_avg,exp_avg_sq [128256 4096 ] split 0"});
  EXPECT_EQ(planesOf(model, "decoder.layers.{layer}.mlp.linear_fc1.weight"),
            Planes{"param,master,momentum_buffer [2 14336 4096 ] split 1"});
  EXPECT_EQ(planesOf(model, "decoder.final_layernorm.weight"),
            Planes{"param,master,exp_avg,exp_avg_sq [4096 ] split -1"});
}

// A row's mean is cut with the rows, a column's with the columns; of the gated
// matrix, seen as [28672, 4096], rows stay in two halves.
TEST(Model, StatesOfAdafactor) {
  Model model = trained("adafactor");
  using Planes = std::vector<std::string>;
  EXPECT_EQ(planesOf(model, "decoder.layers.{layer}.mlp.linear_fc1.weight"),
            (Planes{"param,master [2 14336 4096 ] split 1",
                    "exp_avg_sq_row [2 14336 ] split 1",
                    "exp_avg_sq_col [4096 ] split -1"}));
  EXPECT_EQ(planesOf(model, "decoder.layers.{layer}.mlp.linear_fc2.weight"),
            (Planes{"param,master [4096 14336 ] split 1",
                    "exp_avg_sq_row [4096 ] split -1",
                    "exp_avg_sq_col [14336 ] split 0"}));
  EXPECT_EQ(planesOf(model, "decoder.final_layernorm.weight"),
            Planes{"param,master,exp_avg_sq [4096 ] split -1"});
}

TEST(Model, ATypeIsNotDerivedWithoutItsSource) {
  request::ModelSpec spec =
      llvm::cantFail(request::lookupPreset("gpt2", request::Field()));
  Model model = buildModel(spec, {"param", "exp_avg"});
  EXPECT_EQ(model.types[0].derivedFrom, "");
  EXPECT_EQ(model.bytesPerElement(), 6);
}

TEST(Model, RequestsNameExactlyTheFamiliesThatExist) {
  EXPECT_EQ(familyNames(), request::values().family);
}
