//===- OverlapTest.cpp - What two roles share -----------------------------===//

#include "Support.h"

using namespace etc;
using namespace etc::layout;
using request::Parallelism;

TEST(Overlap, Boxes) {
  EXPECT_EQ(volume(Box{{0, 4}, {2, 5}}), 12u);
  EXPECT_EQ(volume(Box{{3, 3}}), 0u);
  EXPECT_EQ(sharedVolume(Box{{0, 4}, {2, 5}}, Box{{1, 9}, {4, 8}}), 3u);
  EXPECT_EQ(sharedVolume(Box{{0, 4}}, Box{{6, 9}}), 0u);
  EXPECT_EQ(intersect(Span{0, 4}, Span{6, 9}).size(), 0);
}

TEST(Overlap, ARoleSharesAllWithItself) {
  model::Model model = smallModel();
  Parallelism parallel = {2, 2, 1};
  forEachRole(parallel, [&](Role role) {
    EXPECT_EQ(overlapBytes(model, parallel, role, parallel, role),
              bytesOf(holdings(model, parallel, role), model));
  });
}

// PP2TP2 -> PP4TP1, prev role (1, 1), curr stage 3 (layer 3 and the end). Layer
// 3 at half: 324 elements (all of it is in the whole layer); the final norm 16;
// output rows 256 to 384, since curr pads 300 words to 384: 128 x 8.
TEST(Overlap, ByHand) {
  EXPECT_EQ(overlapBytes(smallModel(), {2, 2, 1}, {1, 1}, {4, 1, 1}, {3, 0}),
            14 * (324 + 16 + 128 * 8));
}

TEST(Overlap, SourcesAreTheTensorAndItsTwins) {
  model::Model model = smallModel();
  unsigned output = *model.findTensor("output_layer.weight");
  unsigned words = *model.findTensor("embedding.word_embeddings.weight");
  using Tensors = std::vector<unsigned>;
  EXPECT_EQ(sourceTensors(model, {2, 1, 1}, output), (Tensors{output, words}));
  EXPECT_EQ(sourceTensors(model, {2, 1, 1}, words), (Tensors{words, output}));
  EXPECT_EQ(sourceTensors(model, {1, 1, 1}, output), Tensors{words});
  EXPECT_EQ(sourceTensors(model, {1, 1, 1}, words), Tensors{words});
}

// The first of two stages has the embedding, of which the last stage needs a
// copy; at PP1 there is no such copy.
TEST(Overlap, ATwinIsKept) {
  model::Model model = smallModel();
  int64_t layers = 2 * (6 * 8 + 24 * 8 + 24 + 64 + 128 + 16 + 128);
  EXPECT_EQ(overlapBytes(model, {1, 1, 1}, {0, 0}, {2, 1, 1}, {1, 0}),
            14 * (layers + 16 + 384 * 8));
  EXPECT_EQ(overlapBytes(model, {2, 1, 1}, {0, 0}, {4, 1, 1}, {3, 0}),
            14 * 384 * 8);
}
