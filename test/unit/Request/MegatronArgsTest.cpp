//===- MegatronArgsTest.cpp - Arguments of a training script --------------===//

#include "../../../lib/Request/MegatronArgs.h"

#include "Support.h"
#include "etc/Request/Presets.h"

using namespace etc::request;

static const Field option = {{"etc-opt", 0, 0}, "--megatron-args"};

static const char *const llama8b =
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 "
    "--num-attention-heads 32 --group-query-attention --num-query-groups 8 "
    "--vocab-size 128256 --seq-length 8192 --max-position-embeddings 8192 "
    "--position-embedding-type rope --normalization RMSNorm --swiglu "
    "--disable-bias-linear --untie-embeddings-and-output-weights --bf16 "
    "--lr 3e-4 --use-distributed-optimizer \\\n"
    "--tensor-model-parallel-size 2 --pipeline-model-parallel-size=4 "
    "--num-layers-per-virtual-pipeline-stage 4 --nnodes 4 --nproc_per_node 8";

TEST(MegatronArgs, Llama) {
  ModelSpec model;
  ASSERT_EQ(show(modelOfMegatronArgs(llama8b, option, model)), "");
  ModelSpec preset = llvm::cantFail(lookupPreset("llama3-8b", Field()));
  EXPECT_EQ(model.traits, preset.traits);
  EXPECT_EQ(model.layers, 32);
  EXPECT_EQ(model.hidden, 4096);
  EXPECT_EQ(model.ffn, 14336);
  EXPECT_EQ(model.kvHeads, 8);
  EXPECT_EQ(model.vocab, 128256);
  EXPECT_FALSE(model.tiedEmbeddings);
}

TEST(MegatronArgs, ASide) {
  Overrides options;
  options.values["megatron-args"] = llama8b;
  options.values["curr"] = "TP4DP8";
  options.values["cluster"] = "4x8";
  Request request = llvm::cantFail(requestFromOptions(options));
  EXPECT_EQ(show(checkRequest(request)), "");
  EXPECT_EQ(request.prev.parallel.str(), "PP4TP2DP4VPP2+zero1");
  // Either side can be given that way; dp fills the cluster.
  options.values["curr"] =
      "--tensor-model-parallel-size 4 --context-parallel-size 2 "
      "--use-tp-pp-dp-mapping";
  request = llvm::cantFail(requestFromOptions(options));
  EXPECT_EQ(request.curr.parallel.str(), "TP4DP4CP2+order=pp-dp");
}

TEST(MegatronArgs, Experts) {
  ModelSpec model;
  ASSERT_EQ(show(modelOfMegatronArgs(
                "--num-layers 61 --hidden-size 7168 --num-attention-heads 128 "
                "--ffn-hidden-size 18432 --swiglu --disable-bias-linear "
                "--normalization RMSNorm --position-embedding-type rope "
                "--multi-latent-attention --q-lora-rank 1536 --kv-lora-rank "
                "512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim "
                "128 --qk-layernorm --num-experts 256 --moe-ffn-hidden-size "
                "2048 --moe-shared-expert-intermediate-size 2048 "
                "--moe-layer-freq '([0]*3+[1]*58)' "
                "--moe-router-enable-expert-bias --moe-grouped-gemm "
                "--mtp-num-layers 1 "
                "--vocab-size 129280 --untie-embeddings-and-output-weights",
                option, model)),
            "");
  ModelSpec preset = llvm::cantFail(lookupPreset("deepseek-v3", Field()));
  EXPECT_EQ(model.traits, preset.traits);
  EXPECT_EQ(model.experts, preset.experts);
  EXPECT_EQ(model.latent, preset.latent);
  EXPECT_EQ(model.mtpLayers, 1);
}

// Megatron's defaults: GPT-2's traits, four times hidden, or with --swiglu two
// thirds of that in multiples of 64; one query group.
TEST(MegatronArgs, Defaults) {
  ModelSpec model;
  cantFail(
      modelOfMegatronArgs("--hidden-size 768 --seq-length 64", option, model));
  EXPECT_EQ(model.traits.fusedNames, true);
  EXPECT_TRUE(model.traits.learnedPositions && model.traits.linearBias);
  EXPECT_TRUE(model.tiedEmbeddings);
  EXPECT_EQ(model.seq, 64);
  EXPECT_FALSE(model.ffnGiven);
  cantFail(modelOfMegatronArgs("--hidden-size 768 --swiglu "
                               "--group-query-attention --transformer-impl "
                               "local",
                               option, model));
  EXPECT_EQ(model.ffn, 2048);
  EXPECT_EQ(model.kvHeads, 1);
  EXPECT_FALSE(model.traits.fusedNames);
}

TEST(MegatronArgs, States) {
  auto statesOf = [](llvm::StringRef text) {
    ModelSpec model;
    cantFail(modelOfMegatronArgs(text, option, model));
    return model.precision + " " + model.optimizer +
           (model.stateDTypes.empty()
                ? ""
                : " " + model.stateDTypes.front().first + " " +
                      model.stateDTypes.front().second);
  };
  EXPECT_EQ(statesOf("--num-layers 2"), "fp32 adam");
  EXPECT_EQ(statesOf("--bf16 --optimizer muon"), "bf16 muon");
  EXPECT_EQ(statesOf("--fp16 --optimizer sgd"), "fp16 sgd");
  EXPECT_EQ(statesOf("--bf16 --fp8-param-gather --fp8-recipe blockwise"),
            "fp8 adam");
  EXPECT_EQ(statesOf("--bf16 --fp8-param-gather --fp8-recipe mxfp8"),
            "mxfp8 adam");
  EXPECT_EQ(statesOf("--bf16 --use-distributed-optimizer "
                     "--use-precision-aware-optimizer --exp-avg-dtype bf16"),
            "bf16 adam exp_avg bf16");
}

TEST(MegatronArgs, StatesThatMegatronRefuses) {
  auto errorFor = [](llvm::StringRef text) {
    ModelSpec model;
    return show(modelOfMegatronArgs(text, option, model));
  };
  const std::string error = "exit 2: etc-opt: error: --megatron-args: ";
  EXPECT_EQ(errorFor("--exp-avg-dtype bf16"),
            error + "--exp-avg-dtype: Megatron takes it with "
                    "--use-precision-aware-optimizer only");
  EXPECT_EQ(errorFor("--exp-avg-dtype fp8"),
            error + "--exp-avg-dtype: expected fp32, bf16 or fp16, got "
                    "\"fp8\"");
  EXPECT_EQ(errorFor("--use-precision-aware-optimizer"),
            error + "--use-precision-aware-optimizer: Megatron takes it with "
                    "--optimizer adam and --use-distributed-optimizer only");
  EXPECT_EQ(errorFor("--optimizer muon --use-distributed-optimizer"),
            error + "--optimizer: whole matrices dealt out over data-parallel "
                    "ranks are not supported; use --optimizer muon without "
                    "--use-distributed-optimizer");
  EXPECT_EQ(errorFor("--optimizer soap"),
            error + "--optimizer: unknown value \"soap\"; accepted: adam, "
                    "adam-bf16, muon, adafactor, sgd, lion");
}

TEST(MegatronArgs, Errors) {
  ModelSpec model;
  SideSpec side;
  EXPECT_EQ(show(modelOfMegatronArgs("--num-layers many", option, model)),
            "exit 2: etc-opt: error: --megatron-args: --num-layers: expected a "
            "positive integer, got \"many\"");
  EXPECT_EQ(show(modelOfMegatronArgs("--num-layers 8 --moe-layer-freq 2",
                                     option, model)),
            "exit 2: etc-opt: error: --megatron-args: --moe-layer-freq: "
            "expected 1, or the dense layers before the others, such as "
            "([0]*3+[1]*5); got \"2\"");
  EXPECT_EQ(show(sideOfMegatronArgs("--world-size 10 "
                                    "--tensor-model-parallel-size 4",
                                    option, side)),
            "exit 2: etc-opt: error: --megatron-args: 10 ranks do not divide "
            "by tp * cp * pp = 4; use --world-size 12");
}
