//===- StagesTest.cpp - The layers of every stage -------------------------===//

#include "Support.h"

using namespace etc::request;
using Stages = std::vector<int64_t>;

/// The stages of prev, for a model of so many layers.
static Parallelism sideOf(int64_t layers, llvm::StringRef side) {
  return requestOf("{\"model\": {\"preset\": \"gpt2\", \"layers\": " +
                   std::to_string(layers) + "}, \"prev\": {" + side.str() +
                   "}}")
      .prev.parallel;
}

/// The error of such a side, without its position.
static std::string errorFor(int64_t layers, llvm::StringRef side) {
  std::string text =
      checkOf("{\"model\": {\"preset\": \"gpt2\", \"layers\": " +
              std::to_string(layers) + "},\n\"prev\": {" + side.str() +
              "}, \"curr\": \"PP1\", \"cluster\": {\"nodes\": "
              "[64]}}");
  return text.substr(std::min(text.size(), text.find("prev")));
}

TEST(Stages, InMegatronsWords) {
  EXPECT_EQ(sideOf(8, R"("pp": 4, "first_stage_layers": 1,
                         "last_stage_layers": 3)")
                .stages,
            (Stages{1, 2, 2, 3}));
  EXPECT_EQ(sideOf(7, R"("pp": 3, "last_stage_layers": 1)").stages,
            (Stages{3, 3, 1}));
  EXPECT_EQ(sideOf(6, R"("pp": 4, "account_for_embedding": true,
                         "account_for_loss": true)")
                .stages,
            (Stages{1, 2, 2, 1}));
  EXPECT_EQ(sideOf(5, R"("pp": 2, "layers_per_stage": [3, 2])").stages,
            (Stages{3, 2}));
}

// Chunk by chunk: the first and last stage have 2 layers, one in each chunk,
// and the stage between has 4.
TEST(Stages, OfChunks) {
  EXPECT_EQ(sideOf(8, R"("pp": 3, "vpp": 2, "first_stage_layers": 2,
                         "last_stage_layers": 2)")
                .stages,
            (Stages{1, 2, 1, 1, 2, 1}));
}

TEST(Stages, LayoutStrings) {
  Parallelism parallel =
      sideOf(61, R"("pp": 16, "pipeline_layout": "Et*3|(tt|)*29,m|L")");
  EXPECT_EQ(parallel.vpp, 2);
  EXPECT_EQ(parallel.mtpStage, 14);
  ASSERT_EQ(parallel.stages.size(), 32u);
  EXPECT_EQ(parallel.stages.front(), 3);
  EXPECT_EQ(parallel.stages[29], 2);
  EXPECT_EQ(parallel.stages[30], 0);
  EXPECT_EQ(parallel.stages[31], 0);
  EXPECT_EQ(
      sideOf(8, R"("pp": 4, "pipeline_layout": "E|(t*2,t|)*2ttL")").stages,
      (Stages{0, 3, 3, 2}));
}

TEST(Stages, EqualOnesAreNotListed) {
  EXPECT_TRUE(
      sideOf(8, R"("pp": 4, "layers_per_stage": [2, 2, 2, 2])").stages.empty());
  EXPECT_TRUE(sideOf(8, R"("pp": 2, "first_stage_layers": 4)").stages.empty());
}

TEST(Stages, WhatDoesNotDivide) {
  EXPECT_EQ(errorFor(8, R"("pp": 4, "first_stage_layers": 1)"),
            "prev: 7 layers do not divide over the other 3 stages; use layers "
            "= 6 or layers = 9 for them");
  EXPECT_EQ(errorFor(8, R"("pp": 2, "first_stage_layers": 5,
                           "last_stage_layers": 4)"),
            "prev: 8 layers, of which the first and the last stage take 9, "
            "leave -1 for 0 stages");
  EXPECT_EQ(errorFor(7, R"("pp": 2, "vpp": 2, "first_stage_layers": 3)"),
            "prev: 3 layers of stage 0 do not divide over vpp = 2; use layers "
            "= 2 or layers = 4");
  EXPECT_EQ(errorFor(8, R"("pp": 4, "account_for_loss": true)"),
            "prev: 8 layers, 9 with embedding and loss as asked, do not divide "
            "over pp * vpp = 4; use layers and ends = 8 or layers and ends = "
            "12");
  EXPECT_EQ(errorFor(8, R"("pp": 2, "vpp": 3)"),
            "prev: 4 layers of a stage do not divide over vpp = 3; use vpp = 2 "
            "or vpp = 4");
  EXPECT_EQ(errorFor(8, R"("vpp": 2)"),
            "prev: vpp = 2 interleaves stages, but pp = 1 has only one; use "
            "vpp = 1 or pp = 2");
}

TEST(Stages, ListsThatDoNotFit) {
  EXPECT_EQ(errorFor(8, R"("pp": 2, "layers_per_stage": [3, 2])"),
            "prev.layers_per_stage: the stages have 5 layers in all, but the "
            "model has 8; add "
            "3");
  EXPECT_EQ(errorFor(8, R"("pp": 2, "layers_per_stage": [8])"),
            "prev.layers_per_stage: expected the layers of 2 chunks (pp * "
            "vpp), got 1");
  EXPECT_EQ(errorFor(8, R"("pp": 2, "first_stage_layers": 3,
                           "pipeline_layout": "Ettt|tttttL")"),
            "prev: expected one way to cut the layers into stages: "
            "first_stage_layers and last_stage_layers, account_for_embedding "
            "and account_for_loss, or pipeline_layout; got more");
  EXPECT_EQ(errorFor(8, R"("pp": 3, "pipeline_layout": "Ettt|tttttL")"),
            "prev: a pipeline layout of 2 chunks does not divide over pp = 3; "
            "use chunks = 3");
  EXPECT_EQ(errorFor(8, R"("pp": 2, "mtp_stage": 1)"),
            "prev: mtp: stage 1 is named, but the model predicts one token "
            "only");
}

TEST(Stages, MalformedLayoutStrings) {
  auto layoutError = [](llvm::StringRef layout) {
    std::string text =
        errorOf("{\"prev\": {\"pipeline_layout\": \"" + layout.str() + "\"}}");
    return text.substr(std::min(text.size(), text.find("\": ") + 3));
  };
  EXPECT_EQ(layoutError("Ett|tx|L"),
            "unknown letter 'x'; accepted: E, t, m, L, |, *, ( and )");
  EXPECT_EQ(layoutError("tt|L"), "expected one E, at the very beginning");
  EXPECT_EQ(layoutError("Ett|tt"), "expected one L, at the very end");
  EXPECT_EQ(layoutError("E(tt|*2L"),
            "expected a ) for every (, before the next");
  EXPECT_EQ(layoutError("Et*|L"),
            "expected a number up to 65536 after *, got \"\"");
  EXPECT_EQ(layoutError("Et|m|tL"), "expected every t before the m");
  EXPECT_EQ(layoutError("Et|m|mL"), "expected all m in one chunk");
}
