//===- PresetsTest.cpp - Models known by name -----------------------------===//

#include "etc/Request/Presets.h"
#include "Support.h"

using namespace etc::request;

TEST(Presets, AllArePlannableAsTheyAre) {
  for (llvm::StringRef name : presetNames())
    EXPECT_EQ(checkOf("{\"model\": \"" + name.str() +
                      "\", \"prev\": \"PP1\", \"curr\": \"DP2\", "
                      "\"cluster\": {\"nodes\": [2]}}"),
              "");
}

TEST(Presets, PaperModel) {
  ModelSpec spec = llvm::cantFail(lookupPreset("gpt3-paper", Field()));
  EXPECT_EQ(spec.name, "gpt3-paper");
  EXPECT_EQ(spec.layers, 36);
  EXPECT_EQ(spec.hidden, 3072);
  EXPECT_EQ(spec.heads, 32);
  EXPECT_EQ(spec.ffn, 12288);
  EXPECT_EQ(spec.vocab, 50257);
  EXPECT_EQ(spec.seq, 2048);
  EXPECT_TRUE(spec.tiedEmbeddings);
}

TEST(Presets, UnknownNameListsThemAll) {
  EXPECT_EQ(errorOf("{\"model\": \"gpt3-2.7B\"}"),
            "exit 2: r.json:1:11: error: model: unknown preset \"gpt3-2.7B\"; "
            "did you mean \"gpt3-2.7b\"? accepted: gpt2, gpt2-medium, "
            "gpt2-large, gpt2-xl, gpt3-1.3b, gpt3-2.7b, gpt3-6.7b, gpt3-13b, "
            "gpt3-175b, gpt3-paper, llama3-8b, llama3-70b, llama3-405b, "
            "mixtral-8x7b, qwen3-235b-a22b, deepseek-v3, nemotron4-340b");
}
