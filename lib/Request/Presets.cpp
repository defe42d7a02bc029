//===- Presets.cpp - Models known by name ---------------------------------===//

#include "etc/Request/Presets.h"

#include "etc/Request/Families.h"

using namespace etc::request;

namespace {
struct Preset {
  llvm::StringRef name;
  llvm::StringRef family;
  int64_t layers, hidden, heads;
  int64_t ffn = 0; ///< 0: four times hidden
  int64_t vocab = 50257;
  int64_t seq = 0;
  bool tied = false;
  int64_t kvHeads = 0, headDim = 0, mtpLayers = 0;
  ExpertSizes experts = {};
  LatentSizes latent = {};
};
} // namespace

/// All of this series have learned positions, tied embeddings, an MLP of 4 *
/// hidden and the vocabulary of GPT-2.
static Preset gpt(llvm::StringRef name, int64_t layers, int64_t hidden,
                  int64_t heads, int64_t seq) {
  return {.name = name,
          .family = "gpt",
          .layers = layers,
          .hidden = hidden,
          .heads = heads,
          .seq = seq,
          .tied = true};
}

/// Eight key-value heads and the vocabulary of Llama 3.
static Preset llama3(llvm::StringRef name, int64_t layers, int64_t hidden,
                     int64_t heads, int64_t ffn) {
  return {.name = name,
          .family = "llama",
          .layers = layers,
          .hidden = hidden,
          .heads = heads,
          .ffn = ffn,
          .vocab = 128256,
          .kvHeads = 8};
}

// Two sizes of GPT-3 don't multiply as published (heads times channels a head
// is not hidden); they follow common Megatron practice: 1.3b has 16 heads of
// 128 (published: 24), 13b has hidden 5120 (5140). The others are as in the
// config.json of their publishers.
static const Preset presets[] = {
    gpt("gpt2", 12, 768, 12, 1024),
    gpt("gpt2-medium", 24, 1024, 16, 1024),
    gpt("gpt2-large", 36, 1280, 20, 1024),
    gpt("gpt2-xl", 48, 1600, 25, 1024),
    gpt("gpt3-1.3b", 24, 2048, 16, 2048),
    gpt("gpt3-2.7b", 32, 2560, 32, 2048),
    gpt("gpt3-6.7b", 32, 4096, 32, 2048),
    gpt("gpt3-13b", 40, 5120, 40, 2048),
    gpt("gpt3-175b", 96, 12288, 96, 2048),
    // The model of the paper's own evaluation.
    gpt("gpt3-paper", 36, 3072, 32, 2048),
    llama3("llama3-8b", 32, 4096, 32, 14336),
    llama3("llama3-70b", 80, 8192, 64, 28672),
    llama3("llama3-405b", 126, 16384, 128, 53248),
    {.name = "mixtral-8x7b",
     .family = "mixtral",
     .layers = 32,
     .hidden = 4096,
     .heads = 32,
     .vocab = 32000,
     .kvHeads = 8,
     .experts = {.count = 8, .ffn = 14336}},
    {.name = "qwen3-235b-a22b",
     .family = "qwen3-moe",
     .layers = 94,
     .hidden = 4096,
     .heads = 64,
     .vocab = 151936,
     .kvHeads = 4,
     .headDim = 128,
     .experts = {.count = 128, .ffn = 1536}},
    {.name = "deepseek-v3",
     .family = "deepseek-v3",
     .layers = 61,
     .hidden = 7168,
     .heads = 128,
     .ffn = 18432,
     .vocab = 129280,
     .mtpLayers = 1,
     .experts =
         {.count = 256, .ffn = 2048, .sharedFfn = 2048, .denseLayers = 3},
     .latent = {.queryRank = 1536,
                .keyValueRank = 512,
                .plainDim = 128,
                .rotaryDim = 64,
                .valueDim = 128}},
    {.name = "nemotron4-340b",
     .family = "nemotron",
     .layers = 96,
     .hidden = 18432,
     .heads = 96,
     .vocab = 256000,
     .kvHeads = 8},
};

std::vector<llvm::StringRef> etc::request::presetNames() {
  std::vector<llvm::StringRef> names;
  for (const Preset &preset : presets)
    names.push_back(preset.name);
  return names;
}

static ModelSpec specOf(const Preset &preset, const SourceLocation &where) {
  ModelSpec spec;
  spec.name = preset.name.str();
  spec.family = preset.family.str();
  spec.traits = findFamily(preset.family)->traits;
  spec.layers = preset.layers;
  spec.hidden = preset.hidden;
  spec.heads = preset.heads;
  spec.ffn = preset.ffn ? preset.ffn : 4 * preset.hidden;
  spec.ffnGiven = preset.ffn != 0;
  spec.vocab = preset.vocab;
  spec.seq = preset.seq;
  spec.tiedEmbeddings = preset.tied;
  spec.kvHeads = preset.kvHeads;
  spec.headDim = preset.headDim;
  spec.mtpLayers = preset.mtpLayers;
  spec.experts = preset.experts;
  spec.latent = preset.latent;
  spec.where = where;
  return spec;
}

llvm::Expected<ModelSpec> etc::request::lookupPreset(llvm::StringRef name,
                                                     const Field &field) {
  for (const Preset &preset : presets)
    if (preset.name == name)
      return specOf(preset, field.where);
  return malformed(field, "unknown preset \"" + name + "\"; " +
                              suggestName(name, presetNames()));
}
