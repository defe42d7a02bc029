//===- BytesTest.cpp - The bytes of a rank, worked out by hand ------------===//
//
// One configuration of each family, at its published sizes. Every figure is the
// sum of the tensors' shards, written out from the sizes; an element has 14
// bytes (parameter 2, master and two moments 4 each).
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "etc/Request/Presets.h"

#include "gtest/gtest.h"

using namespace etc;
using namespace etc::layout;
using request::Parallelism;

static request::ModelSpec specOf(llvm::StringRef preset) {
  return llvm::cantFail(request::lookupPreset(preset, request::Field()));
}

/// A model that is no preset, in a request's words.
static request::ModelSpec customOf(const std::string &members) {
  return llvm::cantFail(request::parseRequest(R"({"model": {"tied": false, )" +
                                                  members + "}}",
                                              "r.json"))
      .model;
}

static int64_t bytesOfRole(const request::ModelSpec &spec,
                           const Parallelism &parallel, Role role) {
  model::Model model = model::buildModel(spec, request::Request().types,
                                         parallel.distributedOptimizer);
  return bytesOf(holdings(model, parallel, role), model);
}

static int64_t parametersOf(const request::ModelSpec &spec) {
  return parameterCount(model::buildModel(spec, request::Request().types),
                        {1, 1, 1});
}

// 50257 words are padded to 197 x 256 = 50432 rows, 25216 a rank; 3072 rows of
// queries, keys and values are 1152 a rank with TP2, and so on.
TEST(Bytes, Gpt2) {
  Parallelism parallel = {2, 2, 1};
  const int64_t h = 768, words = 25216 * h;
  const int64_t layer = 4 * h             // two norms
                        + 1152 * h + 1152 // linear_qkv
                        + h * 384 + h     // linear_proj
                        + 1536 * h + 1536 // linear_fc1
                        + h * 1536 + h;   // linear_fc2
  EXPECT_EQ(layer, 3546240);
  EXPECT_EQ(bytesOfRole(specOf("gpt2"), parallel, {0, 0}),
            14 * (words + 1024 * h + 6 * layer));
  EXPECT_EQ(bytesOfRole(specOf("gpt2"), parallel, {1, 1}),
            14 * (words + 2 * h + 6 * layer));
  EXPECT_EQ(14 * (words + 1024 * h + 6 * layer), 580016640);
}

// 8 query groups of (4 + 2) heads of 128: 6144 rows, 3072 a rank; the halves of
// [gate; up] have 7168 rows a rank each.
static constexpr int64_t llamaLayer = 2 * 4096          // norms
                                      + 3072 * 4096     // linear_qkv
                                      + 4096 * 2048     // linear_proj
                                      + 2 * 7168 * 4096 // linear_fc1
                                      + 4096 * 7168;    // linear_fc2

TEST(Bytes, Llama3_8b) {
  Parallelism parallel = {4, 2, 1};
  request::ModelSpec spec = specOf("llama3-8b");
  const int64_t words = 64128 * 4096;
  EXPECT_EQ(bytesOfRole(spec, parallel, {0, 0}), 14 * (words + 8 * llamaLayer));
  EXPECT_EQ(bytesOfRole(spec, parallel, {1, 1}), 14 * 8 * llamaLayer);
  EXPECT_EQ(bytesOfRole(spec, parallel, {3, 0}),
            14 * (8 * llamaLayer + 4096 + words));
}

// Every tensor starts at a multiple of 64, and the stage's 872480768 elements
// are 8 x 128 x 852032: no padding, and each of eight ranks has an eighth of
// the states beside all parameters.
TEST(Bytes, Llama3_8bWithTheDistributedOptimizer) {
  Parallelism parallel = {.pp = 4, .tp = 2, .dp = 8};
  parallel.distributedOptimizer = true;
  for (int64_t d : {0, 3, 7})
    EXPECT_EQ(bytesOfRole(specOf("llama3-8b"), parallel, {1, 0, d}),
              2 * 8 * llamaLayer + 12 * llamaLayer);
}

// mistralai/Mistral-7B-v0.1. With TP4, 32000 words are 63 x 512 = 32256 rows.
TEST(Bytes, Mistral7b) {
  request::ModelSpec spec =
      customOf(R"("family": "mistral", "layers": 32, "hidden": 4096, )"
               R"("heads": 32, "ffn": 14336, "vocab": 32000, "kv_heads": 8)");
  EXPECT_EQ(parametersOf(spec), 7241732096);
  const int64_t layer =
      2 * 4096 + 1536 * 4096 + 4096 * 1024 + 2 * 3584 * 4096 + 4096 * 3584;
  EXPECT_EQ(bytesOfRole(spec, {1, 4, 1}, {0, 2}),
            14 * (2 * 8064 * 4096 + 32 * layer + 4096));
}

// Qwen/Qwen2-7B: 28 heads and 4 groups of 128, biases of linear_qkv alone.
TEST(Bytes, Qwen2_7b) {
  request::ModelSpec spec =
      customOf(R"("family": "qwen2", "layers": 28, "hidden": 3584, )"
               R"("heads": 28, "ffn": 18944, "vocab": 152064, "kv_heads": 4)");
  EXPECT_EQ(parametersOf(spec), 7615616512);
  const int64_t h = 3584;
  const int64_t layer = 2 * h + 1152 * h + 1152 // 36 heads of 128, a fourth
                        + h * 896 + 2 * 4736 * h + h * 4736;
  EXPECT_EQ(bytesOfRole(spec, {2, 4, 2}, {1, 3}),
            14 * (14 * layer + h + 38016 * h));
}

// Qwen/Qwen3-8B: norms of queries and keys, one for all heads.
TEST(Bytes, Qwen3_8b) {
  request::ModelSpec spec =
      customOf(R"("family": "qwen3", "layers": 36, "hidden": 4096, )"
               R"("heads": 32, "ffn": 12288, "vocab": 151936, "kv_heads": 8, )"
               R"("head_dim": 128)");
  EXPECT_EQ(parametersOf(spec), 8190735360);
  const int64_t layer = 2 * 4096 + 3072 * 4096 + 4096 * 2048 + 2 * 128 +
                        2 * 6144 * 4096 + 4096 * 6144;
  Parallelism parallel = {.pp = 3, .tp = 2, .dp = 2, .cp = 2};
  // 151936 words are 594 x 256 = 152064 rows.
  EXPECT_EQ(bytesOfRole(spec, parallel, {0, 1}),
            14 * (76032 * 4096 + 12 * layer));
}

// With EP4 a rank has two of eight experts, whole (ETP1); slots are lcm(2, 4).
TEST(Bytes, Mixtral8x7b) {
  Parallelism parallel = {
      .pp = 2, .tp = 2, .dp = 4, .cp = 1, .ep = 4, .etp = 1};
  const int64_t expert = 3 * 14336 * 4096;
  const int64_t layer =
      2 * 4096 + 3072 * 4096 + 4096 * 2048 + 8 * 4096 + 2 * expert;
  EXPECT_EQ(parallel.slots(), 4);
  EXPECT_EQ(bytesOfRole(specOf("mixtral-8x7b"), parallel, {0, 3}),
            14 * (16000 * 4096 + 16 * layer));
}

// Qwen/Qwen1.5-MoE-A2.7B: 60 experts of 1408, 15 a rank, and shared ones of
// 5632 with a gate; Megatron cuts the shared ones with TP.
TEST(Bytes, Qwen15Moe) {
  request::ModelSpec spec =
      customOf(R"("family": "qwen2-moe", "layers": 24, "hidden": 2048, )"
               R"("heads": 16, "ffn": 5632, "vocab": 151936, "experts": 60, )"
               R"("expert_ffn": 1408, "shared_ffn": 5632)");
  EXPECT_EQ(parametersOf(spec), 14315784192);
  const int64_t h = 2048;
  const int64_t layer = 2 * h + 3072 * h + 3072 // 48 heads of 128, a half
                        + h * 1024 + 60 * h + 15 * 3 * 1408 * h + h +
                        3 * 2816 * h;
  Parallelism parallel = {
      .pp = 4, .tp = 2, .dp = 2, .cp = 1, .ep = 4, .etp = 1};
  EXPECT_EQ(bytesOfRole(spec, parallel, {1, 0}), 14 * 6 * layer);
}

// 64 heads and 4 groups of 128 over TP4: 18 heads a rank. 16 of 128 experts.
TEST(Bytes, Qwen3_235b) {
  Parallelism parallel = {
      .pp = 2, .tp = 4, .dp = 2, .cp = 1, .ep = 8, .etp = 1};
  const int64_t h = 4096;
  const int64_t layer =
      2 * h + 18 * 128 * h + h * 2048 + 2 * 128 + 128 * h + 16 * 3 * 1536 * h;
  // 151936 words are 297 x 512 = 152064 rows.
  EXPECT_EQ(bytesOfRole(specOf("qwen3-235b-a22b"), parallel, {1, 7}),
            14 * (47 * layer + h + 38016 * h));
}

// Transformer Engine's down projections are whole on every rank. 32 of 256
// experts; a router's bias is a buffer of 4 bytes an expert, without states.
TEST(Bytes, DeepSeekV3) {
  Parallelism parallel = {
      .pp = 1, .tp = 2, .dp = 4, .cp = 1, .ep = 8, .etp = 1};
  const int64_t h = 7168;
  const int64_t attention = h + h * 8192          // linear_proj
                            + 1536 * h            // linear_q_down_proj
                            + 1536 + 12288 * 1536 // linear_q_up_proj
                            + 576 * h             // linear_kv_down_proj
                            + 512 + 16384 * 512;  // linear_kv_up_proj
  const int64_t dense = h + 3 * 9216 * h;
  const int64_t moe = h + 256 * h + 32 * 3 * 2048 * h + 3 * 1024 * h;
  const int64_t prediction = 2 * h + 3584 * 2 * h + attention + moe + h;
  const int64_t words = 64640 * h;
  EXPECT_EQ(bytesOfRole(specOf("deepseek-v3"), parallel, {0, 5}),
            14 * (words + 61 * attention + 3 * dense + 58 * moe + h +
                  prediction + words) +
                59 * 256 * 4);
}

// 96 heads and 8 groups of 192 over TP8: 14 heads, 2688 rows a rank. A layer of
// a single matrix before the activation, and norms with a bias.
TEST(Bytes, Nemotron4_340b) {
  const int64_t h = 18432;
  const int64_t layer = 4 * h + 2688 * h + h * 2304 + 9216 * h + h * 9216;
  EXPECT_EQ(bytesOfRole(specOf("nemotron4-340b"), {12, 8, 1}, {11, 7}),
            14 * (8 * layer + 2 * h + 32000 * h));
}

// A plain table: a bias that is whole, and a matrix that is cut.
TEST(Bytes, Table) {
  request::ModelSpec spec = customOf(
      R"("layers": 6, "tensors": [
           {"name": "in", "block": "embed", "shape": [10, 4]},
           {"name": "l.{layer}", "shape": [6, 9], "split": 1}])");
  EXPECT_EQ(bytesOfRole(spec, {2, 3, 1}, {0, 0}), 14 * (40 + 3 * 18));
  EXPECT_EQ(bytesOfRole(spec, {2, 3, 1}, {1, 2}), 14 * 3 * 18);
}
