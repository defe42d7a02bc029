//===- OptionsTest.cpp - Requests from command-line options ---------------===//

#include "Support.h"

using namespace etc::request;

static Overrides usual() {
  Overrides options;
  options.values["model"] = "gpt3-2.7b";
  options.values["prev"] = "PP4TP2";
  options.values["curr"] = "PP8TP4";
  options.values["cluster"] = "8x4";
  return options;
}

static std::string errorFor(void (*change)(Overrides &)) {
  Overrides options = usual();
  change(options);
  auto request = requestFromOptions(options);
  return request ? show(checkRequest(*request)) : show(request.takeError());
}

TEST(Options, AnUnknownOneIsNamed) {
  EXPECT_EQ(errorFor([](Overrides &o) { o.values["memory"] = "1.5x"; }),
            "exit 2: etc-opt: --memory: no such option of a request");
}

TEST(Options, ARequestFromOptionsAlone) {
  Overrides options = usual();
  options.values["failed"] = "3,7";
  options.values["draining"] = "";
  options.values["curr"] = "PP4TP4";
  options.values["types"] = "master,param";
  options.values["derive"] = "none";
  options.values["memory-budget"] = "1.5x";
  Request request = llvm::cantFail(requestFromOptions(options));
  EXPECT_EQ(show(checkRequest(request)), "");
  EXPECT_EQ(request.model.hidden, 2560);
  EXPECT_EQ(request.nodes, std::vector<int64_t>(8, 4));
  EXPECT_EQ(request.failed, (std::vector<int64_t>{3, 7}));
  EXPECT_EQ(request.types, (std::vector<std::string>{"param", "master"}));
  EXPECT_EQ(request.derive, "none");
  EXPECT_TRUE(request.curr.where.isCommandLine());
}

TEST(Options, OverrideAFile) {
  Request request = requestOf(R"({"model": "gpt2", "prev": {"pp": 2,
      "devices": [1, 0]}, "curr": "PP4", "cluster": {"nodes": [4]}})");
  Overrides options;
  options.values["hidden"] = "1536";
  options.values["tied"] = "false";
  options.values["prev"] = "TP2";
  options.values["cluster"] = "4,4,8";
  ASSERT_EQ(show(applyOverrides(request, options)), "");
  EXPECT_EQ(request.model.ffn, 6144) << "four times the new hidden";
  EXPECT_EQ(request.model.layers, 12);
  EXPECT_FALSE(request.model.tiedEmbeddings);
  EXPECT_EQ(request.model.name, "custom");
  EXPECT_EQ(request.prev.parallel, (Parallelism{1, 2, 1}));
  EXPECT_FALSE(request.prev.devices) << "they were those of the old side";
  EXPECT_EQ(request.curr.parallel, (Parallelism{4, 1, 1}));
  EXPECT_EQ(request.nodes, (std::vector<int64_t>{4, 4, 8}));
}

TEST(Options, AGivenFfnStays) {
  Request request = requestOf(R"({"model": {"preset": "gpt2", "ffn": 2048}})");
  Overrides options;
  options.values["hidden"] = "1536";
  ASSERT_EQ(show(applyOverrides(request, options)), "");
  EXPECT_EQ(request.model.ffn, 2048);
}

TEST(Options, MalformedValues) {
  EXPECT_EQ(errorFor([](auto &o) { o.values["model"] = "gpt4"; }).substr(0, 85),
            "exit 2: etc-opt: error: --model: unknown preset \"gpt4\"; did you "
            "mean \"gpt2\"? accepted");
  EXPECT_EQ(errorFor([](auto &o) { o.values["layers"] = "many"; }),
            "exit 2: etc-opt: error: --layers: expected a positive integer, "
            "got \"many\"");
  EXPECT_EQ(errorFor([](auto &o) { o.values["layers"] = ""; }),
            "exit 2: etc-opt: error: --layers: expected a positive integer, "
            "got \"\"");
  EXPECT_EQ(errorFor([](auto &o) { o.values["tied"] = "yes"; }),
            "exit 2: etc-opt: error: --tied: expected true or false, got "
            "\"yes\"");
  EXPECT_EQ(errorFor([](auto &o) { o.values["cluster"] = "6x"; }),
            "exit 2: etc-opt: error: --cluster: expected a positive integer, "
            "got \"\"");
  EXPECT_EQ(errorFor([](auto &o) { o.values["cluster"] = ""; }),
            "exit 2: etc-opt: error: --cluster: expected at least one node, "
            "got none");
  EXPECT_EQ(errorFor([](auto &o) { o.values["cluster"] = "4,,4"; }),
            "exit 2: etc-opt: error: --cluster: expected a positive integer, "
            "got \"\"");
  EXPECT_EQ(errorFor([](auto &o) { o.values["failed"] = "3;7"; }),
            "exit 2: etc-opt: error: --failed: expected devices from 0 to "
            "1048575 or ascending ranges of them, like 0-7,12; got \"3;7\"");
  EXPECT_EQ(errorFor([](auto &o) { o.values["types"] = ""; }),
            "exit 2: etc-opt: error: --types: expected at least one type; "
            "accepted: param, master, exp_avg, exp_avg_sq");
  EXPECT_EQ(errorFor([](auto &o) { o.values["place"] = "packed"; }),
            "exit 2: etc-opt: error: --place: unknown value \"packed\"; did "
            "you mean \"pack\"? accepted: pack, tp, any");
  EXPECT_EQ(errorFor([](auto &o) { o.values["derive"] = "no"; }),
            "exit 2: etc-opt: error: --derive: unknown value \"no\"; accepted: "
            "param, none");
  EXPECT_EQ(errorFor([](auto &o) { o.values["memory-budget"] = "lots"; }),
            "exit 2: etc-opt: error: --memory-budget: expected a number of "
            "bytes, or a ratio from 1x to 1000x with at most six decimals such "
            "as 1.05x, got \"lots\"");
}

TEST(Options, ChecksSpeakOfOptions) {
  EXPECT_EQ(errorFor([](auto &o) { o.values["curr"] = "PP6TP4"; }),
            "exit 1: etc-opt: error: --curr: 32 layers do not divide over pp = "
            "6; use pp = 4 or pp = 8, or layers_per_stage");
  EXPECT_EQ(errorFor([](auto &o) { o.values["heads"] = "24"; }),
            "exit 1: etc-opt: error: --heads: 24 attention heads do not divide "
            "hidden = 2560; use heads = 20 or heads = 32");
  EXPECT_EQ(errorFor([](auto &o) { o.values["draining"] = "32"; }),
            "exit 1: etc-opt: error: --draining: device 32 is not in the "
            "cluster; expected 0 to 31");
}

TEST(Options, WhatIsMissing) {
  EXPECT_EQ(errorFor([](auto &o) { o.values.erase("model"); }),
            "exit 2: etc-opt: error: --model: missing; expected the sizes of a "
            "model, or a preset: gpt2, gpt2-medium, gpt2-large, gpt2-xl, "
            "gpt3-1.3b, gpt3-2.7b, gpt3-6.7b, gpt3-13b, gpt3-175b, gpt3-paper, "
            "llama3-8b, llama3-70b, llama3-405b, mixtral-8x7b, "
            "qwen3-235b-a22b, deepseek-v3, nemotron4-340b");
  EXPECT_EQ(errorFor([](auto &o) {
              o.values.erase("model");
              o.values["layers"] = "4";
              o.values["hidden"] = "64";
            }),
            "exit 2: etc-opt: error: --heads: missing; expected a positive "
            "integer");
  EXPECT_EQ(errorFor([](auto &o) { o.values.erase("curr"); }),
            "exit 2: etc-opt: error: --curr: missing; expected a configuration "
            "such as PP4TP2");
  EXPECT_EQ(errorFor([](auto &o) { o.values.erase("cluster"); }),
            "exit 2: etc-opt: error: --cluster: missing; expected the nodes "
            "and the devices of each");
}
