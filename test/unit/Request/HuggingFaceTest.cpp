//===- HuggingFaceTest.cpp - Models from a config.json --------------------===//

#include "../../../lib/Request/HuggingFace.h"

#include "Support.h"
#include "etc/Request/Presets.h"

using namespace etc::request;

static ModelSpec parse(llvm::StringRef text) {
  auto spec = parseHuggingFace(text, "config.json");
  if (spec)
    return *spec;
  ADD_FAILURE() << show(spec.takeError());
  return ModelSpec();
}

/// Whether all that decides about tensors is as in a preset.
static void expectPreset(llvm::StringRef text, llvm::StringRef preset) {
  ModelSpec got = parse(text);
  ModelSpec expected = llvm::cantFail(lookupPreset(preset, Field()));
  EXPECT_EQ(got.family, expected.family);
  EXPECT_EQ(got.traits, expected.traits);
  EXPECT_EQ(got.layers, expected.layers);
  EXPECT_EQ(got.hidden, expected.hidden);
  EXPECT_EQ(got.heads, expected.heads);
  EXPECT_EQ(got.keyValueHeads(), expected.keyValueHeads());
  EXPECT_EQ(got.vocab, expected.vocab);
  EXPECT_EQ(got.tiedEmbeddings, expected.tiedEmbeddings);
  EXPECT_EQ(got.mtpLayers, expected.mtpLayers);
  EXPECT_EQ(got.experts, expected.experts);
  EXPECT_EQ(got.latent, expected.latent);
}

// What the publishers' files say about tensors, and a little of what they say
// besides.
TEST(HuggingFace, PublishedConfigs) {
  expectPreset(R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
      "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
      "n_inner": null, "vocab_size": 50257})",
               "gpt2");
  expectPreset(R"({"model_type": "llama", "attention_bias": false,
      "hidden_size": 4096, "intermediate_size": 14336,
      "num_attention_heads": 32, "num_hidden_layers": 32,
      "num_key_value_heads": 8, "rope_theta": 500000.0,
      "tie_word_embeddings": false, "vocab_size": 128256})",
               "llama3-8b");
  expectPreset(R"({"model_type": "mixtral", "hidden_size": 4096,
      "intermediate_size": 14336, "num_attention_heads": 32,
      "num_hidden_layers": 32, "num_key_value_heads": 8,
      "num_local_experts": 8, "vocab_size": 32000})",
               "mixtral-8x7b");
  expectPreset(R"({"model_type": "qwen3_moe", "decoder_sparse_step": 1,
      "head_dim": 128, "hidden_size": 4096, "intermediate_size": 12288,
      "mlp_only_layers": [], "moe_intermediate_size": 1536,
      "num_attention_heads": 64, "num_experts": 128, "num_hidden_layers": 94,
      "num_key_value_heads": 4, "vocab_size": 151936})",
               "qwen3-235b-a22b");
  expectPreset(R"({"model_type": "deepseek_v3", "first_k_dense_replace": 3,
      "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
      "moe_intermediate_size": 2048, "moe_layer_freq": 1,
      "n_routed_experts": 256, "n_shared_experts": 1,
      "num_attention_heads": 128, "num_hidden_layers": 61,
      "num_key_value_heads": 128, "num_nextn_predict_layers": 1,
      "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
      "v_head_dim": 128, "vocab_size": 129280})",
               "deepseek-v3");
}

TEST(HuggingFace, TraitsOfQwen) {
  ModelSpec spec = parse(R"({"model_type": "qwen2", "hidden_size": 896,
      "intermediate_size": 4864, "num_attention_heads": 14,
      "num_hidden_layers": 24, "num_key_value_heads": 2,
      "tie_word_embeddings": true, "vocab_size": 151936})");
  EXPECT_TRUE(spec.traits.qkvBias);
  EXPECT_TRUE(spec.tiedEmbeddings);
  EXPECT_EQ(spec.ffn, 4864);
}

TEST(HuggingFace, Errors) {
  auto errorOf = [](llvm::StringRef text) {
    return show(parseHuggingFace(text, "config.json"));
  };
  EXPECT_EQ(errorOf("{}"), "exit 2: config.json:1:1: error: model_type: "
                           "missing; expected the config.json of a Hugging "
                           "Face model");
  EXPECT_EQ(
      errorOf("{\"model_type\": \"lama\"}"),
      "exit 2: config.json:1:16: error: model_type: unknown value "
      "\"lama\"; did you mean \"llama\"? accepted: gpt2, llama, mistral, "
      "qwen2, qwen3, mixtral, qwen2_moe, qwen3_moe, deepseek_v3, nemotron");
  EXPECT_EQ(errorOf("{\"model_type\": \"llama\",\n\"num_hidden_layers\": 2}"),
            "exit 2: config.json:1:1: error: hidden_size: missing; expected a "
            "positive integer");
  EXPECT_EQ(errorOf("{\"model_type\": \"llama\",\n\"num_hidden_layers\": "
                    "2.5}"),
            "exit 2: config.json:2:22: error: num_hidden_layers: expected a "
            "positive integer, got 2.5");
  const std::string llama =
      "{\"model_type\": \"llama\", \"num_hidden_layers\": 2, "
      "\"hidden_size\": 8, \"num_attention_heads\": 2, "
      "\"vocab_size\": 9, \"intermediate_size\": 16,\n";
  EXPECT_EQ(errorOf(llama + "\"attention_bias\": true}"),
            "exit 2: config.json:2:19: error: attention_bias: true is not "
            "supported; expected false");
  EXPECT_EQ(errorOf(llama + "\"decoder_sparse_step\": 2}"),
            "exit 2: config.json:2:24: error: decoder_sparse_step: expected 1 "
            "(experts in every layer behind the dense ones), got 2");
  EXPECT_EQ(errorOf(llama + "\"mlp_only_layers\": [0, 2]}"),
            "exit 2: config.json:2:20: error: mlp_only_layers: layers without "
            "experts are supported at the beginning only: expected 0, 1, ..., "
            "got layer 2");
}

TEST(HuggingFace, AFileThatIsNotThere) {
  EXPECT_EQ(errorOf("{\"model\": {\"hf_config\": \"none/config.json\"}}"),
            "exit 2: r.json:1:25: error: model.hf_config: none/config.json: "
            "cannot open: No such file or directory");
}
