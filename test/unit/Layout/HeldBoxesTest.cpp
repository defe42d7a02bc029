//===- HeldBoxesTest.cpp - What a role holds ------------------------------===//

#include "Support.h"

using namespace etc;
using namespace etc::layout;
using request::Parallelism;

namespace {
using Row = std::pair<std::string, Box>;
} // namespace

static std::vector<Row> rows(const model::Model &model,
                             const Parallelism &parallel, Role role) {
  std::vector<Row> rows;
  for (const HeldBox &held : holdings(model, parallel, role))
    rows.push_back(
        {tensorName(model.tensors[held.tensor], held.layer), held.box});
  return rows;
}

/// What tensor-parallel rank 1 of 2 holds of a layer of the small model.
static void expectLayer(llvm::ArrayRef<Row> rows, const std::string &layer) {
  const Row expected[] = {
      {layer + "input_layernorm.weight", {{0, 8}}},
      {layer + "input_layernorm.bias", {{0, 8}}},
      {layer + "self_attention.linear_qkv.weight", {{12, 24}, {0, 8}}},
      {layer + "self_attention.linear_qkv.bias", {{12, 24}}},
      {layer + "self_attention.linear_proj.weight", {{0, 8}, {4, 8}}},
      {layer + "self_attention.linear_proj.bias", {{0, 8}}},
      {layer + "pre_mlp_layernorm.weight", {{0, 8}}},
      {layer + "pre_mlp_layernorm.bias", {{0, 8}}},
      {layer + "mlp.linear_fc1.weight", {{8, 16}, {0, 8}}},
      {layer + "mlp.linear_fc1.bias", {{8, 16}}},
      {layer + "mlp.linear_fc2.weight", {{0, 8}, {8, 16}}},
      {layer + "mlp.linear_fc2.bias", {{0, 8}}},
  };
  EXPECT_EQ(rows, llvm::ArrayRef(expected));
}

// 300 words are padded to 512 at TP2: rank 1 has rows 256 to 512.
TEST(Holdings, FirstStageOfPP2TP2) {
  std::vector<Row> all = rows(smallModel(), {2, 2, 1}, {0, 1});
  ASSERT_EQ(all.size(), 2u + 2 * 12);
  EXPECT_EQ(all[0],
            (Row{"embedding.word_embeddings.weight", {{256, 512}, {0, 8}}}));
  EXPECT_EQ(all[1],
            (Row{"embedding.position_embeddings.weight", {{0, 6}, {0, 8}}}));
  expectLayer(llvm::ArrayRef(all).slice(2, 12), "decoder.layers.0.");
  expectLayer(llvm::ArrayRef(all).slice(14, 12), "decoder.layers.1.");
}

TEST(Holdings, LastStageOfPP2TP2) {
  std::vector<Row> all = rows(smallModel(), {2, 2, 1}, {1, 1});
  ASSERT_EQ(all.size(), 2u * 12 + 3);
  expectLayer(llvm::ArrayRef(all).slice(0, 12), "decoder.layers.2.");
  expectLayer(llvm::ArrayRef(all).slice(12, 12), "decoder.layers.3.");
  EXPECT_EQ(all[24], (Row{"decoder.final_layernorm.weight", {{0, 8}}}));
  EXPECT_EQ(all[25], (Row{"decoder.final_layernorm.bias", {{0, 8}}}));
  EXPECT_EQ(all[26], (Row{"output_layer.weight", {{256, 512}, {0, 8}}}));
}

// A layer at TP2: norms and replicated biases 6 x 8 = 48, qkv 12 x 8 + 12, proj
// 8 x 4, fc1 8 x 8 + 8, fc2 8 x 8: 324 elements. Words 256 x 8, positions 6
// x 8.
TEST(Holdings, BytesByHand) {
  model::Model model = smallModel();
  auto bytes = [&](Role role) {
    return bytesOf(holdings(model, {2, 2, 1}, role), model);
  };
  EXPECT_EQ(bytes({0, 1}), 14 * (2048 + 48 + 2 * 324));
  EXPECT_EQ(bytes({1, 0}), 14 * (2 * 324 + 16 + 2048));
}

TEST(Holdings, OneStageHasNoTiedCopy) {
  std::vector<Row> all = rows(smallModel(), {1, 1, 1}, {0, 0});
  EXPECT_EQ(all.size(), 2u + 4 * 12 + 2);
  EXPECT_EQ(all.back().first, "decoder.final_layernorm.bias");
  EXPECT_EQ(rows(smallModel(false), {1, 1, 1}, {0, 0}).back().first,
            "output_layer.weight");
}

// The state that a configuration needs, in units of 10 MB, against figures
// that were worked out apart from this code (with 1024 positions).
TEST(Holdings, StateOfGpt3_2_7b) {
  request::ModelSpec spec =
      llvm::cantFail(request::lookupPreset("gpt3-2.7b", request::Field()));
  spec.seq = 1024;
  model::Model model = model::buildModel(spec, request::Request().types);
  auto state = [&](Parallelism parallel) {
    int64_t bytes = 0;
    forEachRole(parallel, [&](Role role) {
      bytes += bytesOf(holdings(model, parallel, role), model);
    });
    return (bytes * parallel.dp + 5000000) / 10000000;
  };
  EXPECT_EQ(state({2, 4, 2}), 7810);
  EXPECT_EQ(state({4, 4, 1}), 3905);
  EXPECT_EQ(state({2, 8, 1}), 3926);
  EXPECT_EQ(state({2, 4, 1}), 3905);
  EXPECT_EQ(state({8, 1, 1}), 3889);
}
