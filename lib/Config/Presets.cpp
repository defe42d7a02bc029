//===- Presets.cpp - Models known by name ---------------------------------===//

#include "etc/Config/Presets.h"

using namespace etc::config;

namespace {
struct Preset {
  llvm::StringRef name;
  int64_t layers, hidden, heads, seq;
};
} // namespace

// All have learned positions, tied embeddings, an MLP of 4 * hidden and the
// vocabulary of GPT-2. Two sizes of GPT-3 don't multiply as published (heads
// times channels a head is not hidden); they follow common Megatron practice:
// 1.3b has 16 heads of 128 (published: 24), 13b has hidden 5120 (5140).
static constexpr int64_t gptVocab = 50257;
static const Preset presets[] = {
    {"gpt2", 12, 768, 12, 1024},
    {"gpt2-medium", 24, 1024, 16, 1024},
    {"gpt2-large", 36, 1280, 20, 1024},
    {"gpt2-xl", 48, 1600, 25, 1024},
    {"gpt3-1.3b", 24, 2048, 16, 2048},
    {"gpt3-2.7b", 32, 2560, 32, 2048},
    {"gpt3-6.7b", 32, 4096, 32, 2048},
    {"gpt3-13b", 40, 5120, 40, 2048},
    {"gpt3-175b", 96, 12288, 96, 2048},
    // The model of the paper's own evaluation.
    {"gpt3-paper", 36, 3072, 32, 2048},
};

std::vector<llvm::StringRef> etc::config::presetNames() {
  std::vector<llvm::StringRef> names;
  for (const Preset &preset : presets)
    names.push_back(preset.name);
  return names;
}

static ModelSpec specOf(const Preset &preset, const SourceLocation &where) {
  ModelSpec spec;
  spec.name = preset.name.str();
  spec.layers = preset.layers;
  spec.hidden = preset.hidden;
  spec.heads = preset.heads;
  spec.ffn = 4 * preset.hidden;
  spec.vocab = gptVocab;
  spec.seq = preset.seq;
  spec.where = where;
  return spec;
}

llvm::Expected<ModelSpec> etc::config::lookupPreset(llvm::StringRef name,
                                                    const Field &field) {
  for (const Preset &preset : presets)
    if (preset.name == name)
      return specOf(preset, field.where);
  return malformed(field, "unknown preset \"" + name + "\"; " +
                              suggestName(name, presetNames()));
}
