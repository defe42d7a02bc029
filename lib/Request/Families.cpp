//===- Families.cpp - Families of models known by name --------------------===//

#include "etc/Request/Families.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc::request;

// All are members of Megatron-Core's GPTModel, and differ in the tensors of
// their layers. Models since Llama are trained with Transformer Engine's
// modules, hence its names.
static const Traits gpt = {.learnedPositions = true,
                           .normBias = true,
                           .linearBias = true,
                           .qkvBias = true};
static const Traits llama = {
    .gated = true, .fusedNames = true, .groupedExperts = true};
static const Traits qwen2 = {
    .qkvBias = true, .gated = true, .fusedNames = true, .groupedExperts = true};
static const Traits qwen3 = {
    .gated = true, .qkNorm = true, .fusedNames = true, .groupedExperts = true};
static const Traits qwen2Moe = {.qkvBias = true,
                                .gated = true,
                                .sharedGate = true,
                                .fusedNames = true,
                                .groupedExperts = true};
// An MLP without a gate, and LayerNorm with its bias as the only one.
static const Traits nemotron = {
    .normBias = true, .fusedNames = true, .groupedExperts = true};
// Norms of the compressed queries and keys are what Megatron calls qkNorm here.
static const Traits deepseek = {.gated = true,
                                .qkNorm = true,
                                .latentAttention = true,
                                .routerBias = true,
                                .fusedNames = true,
                                .groupedExperts = true};

static const Family table[] = {
    {"gpt", gpt},
    {"llama", llama},
    {"mistral", llama},
    {"qwen2", qwen2},
    {"qwen3", qwen3},
    {"mixtral", llama},
    {"qwen2-moe", qwen2Moe},
    {"qwen3-moe", qwen3},
    {"deepseek-v3", deepseek},
    {"nemotron", nemotron},
    {"table", {}},
};

llvm::ArrayRef<Family> etc::request::families() { return table; }

const Family *etc::request::findFamily(llvm::StringRef name) {
  auto found = llvm::find_if(
      table, [&](const Family &family) { return family.name == name; });
  return found == std::end(table) ? nullptr : found;
}
