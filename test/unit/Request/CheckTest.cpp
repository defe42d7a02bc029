//===- CheckTest.cpp - Requests that can't be met -------------------------===//

#include "Support.h"

using namespace etc::request;

/// The check of gpt3-paper (36 layers, 32 heads, ffn 12288) on six nodes of
/// four, with more fields on a line of their own.
static std::string check(llvm::StringRef fields) {
  return checkOf("{\"model\": \"gpt3-paper\", \"cluster\": {\"nodes\": 6, "
                 "\"devices_per_node\": 4},\n" +
                 fields.str() + "}");
}

TEST(Check, TheUsualPasses) {
  EXPECT_EQ(check("\"prev\": \"PP4TP2\", \"curr\": \"PP6TP4\""), "");
}

TEST(Check, MissingFieldsOfAFile) {
  EXPECT_EQ(check("\"prev\": \"PP4\""),
            "exit 2: r.json:1:1: error: curr: missing; expected a "
            "configuration such as PP4TP2");
  EXPECT_EQ(checkOf("{\"model\": {\"layers\": 2, \"hidden\": 8}}"),
            "exit 2: r.json:1:11: error: model.heads: missing; expected a "
            "positive integer");
}

TEST(Check, LayersDivideOverStages) {
  EXPECT_EQ(check("\"prev\": \"PP4\", \"curr\": \"PP8\""),
            "exit 1: r.json:2:24: error: curr: 36 layers do not divide over pp "
            "= 8; use pp = 6 or pp = 9, or layers_per_stage");
  EXPECT_EQ(check("\"prev\": \"PP40\", \"curr\": \"PP4\""),
            "exit 1: r.json:2:9: error: prev: 36 layers do not divide over pp "
            "= 40; use pp = 36, or layers_per_stage");
}

TEST(Check, HeadsAndFfnDivideOverTensorParallelRanks) {
  EXPECT_EQ(check("\"prev\": \"PP4\", \"curr\": \"TP5\""),
            "exit 1: r.json:2:24: error: curr: self_attention.linear_qkv"
            ".weight: 32 attention heads do not divide over tp = 5; use tp = 4 "
            "or tp = 8");
  // gcd(32, 100) = 4: the remedy does for the heads too.
  EXPECT_EQ(checkOf("{\"model\": {\"preset\": \"gpt3-paper\", \"ffn\": 100},\n"
                    "\"prev\": \"PP1\", \"curr\": \"TP8\", "
                    "\"cluster\": {\"nodes\": [8]}}"),
            "exit 1: r.json:2:24: error: curr: mlp.linear_fc1.weight: 100 rows "
            "do not divide over tp = 8; use tp = 4");
}

TEST(Check, ARemedyDoesForKeyValueHeadsToo) {
  // 96 heads of which 8 are key-value heads: 6 divides the 96, 12 does too, but
  // neither divides 8 nor is a multiple.
  for (const auto &[tp, remedy] :
       {std::pair("5", "4 or tp = 8"), std::pair("7", "4 or tp = 8"),
        std::pair("10", "8 or tp = 16")})
    EXPECT_NE(checkOf(std::string("{\"model\": {\"preset\": "
                                  "\"nemotron4-340b\"},\n\"prev\": \"TP") +
                      tp +
                      "\", \"curr\": \"TP4\", \"cluster\": {\"nodes\": "
                      "[12]}}")
                  .find(std::string("; use tp = ") + remedy),
              std::string::npos)
        << tp;
  EXPECT_NE(checkOf("{\"model\": {\"preset\": \"nemotron4-340b\"},\n"
                    "\"prev\": \"TP12\", \"curr\": \"TP4\", "
                    "\"cluster\": {\"nodes\": [12]}}")
                .find("neither a divisor nor a multiple of 8 key-value heads; "
                      "use tp = 8 or tp = 16"),
            std::string::npos);
}

TEST(Check, ARemedyDoesForRoutedExpertsToo) {
  // 6 divides the 24 heads, but not the 1408 rows of an expert.
  EXPECT_NE(
      checkOf("{\"model\": {\"preset\": \"mixtral-8x7b\", \"hidden\": 3072,"
              " \"heads\": 24, \"kv_heads\": 24, \"expert_ffn\": 1408},\n"
              "\"prev\": \"PP1\", \"curr\": \"TP5\", "
              "\"cluster\": {\"nodes\": [8]}}")
          .find("over tp = 5; use tp = 4 or tp = 8"),
      std::string::npos);
}

TEST(Check, HeadsDivideHidden) {
  EXPECT_EQ(checkOf("{\"model\": {\"preset\": \"gpt2\", \"heads\": 11},\n"
                    "\"prev\": \"PP1\", \"curr\": \"TP8\", "
                    "\"cluster\": {\"nodes\": [8]}}"),
            "exit 1: r.json:1:11: error: model.heads: 11 attention heads do "
            "not divide hidden = 768; use heads = 8 or heads = 12");
}

TEST(Check, ModelsBeyondAllCounting) {
  EXPECT_EQ(checkOf("{\"model\": {\"layers\": 65536, \"hidden\": 268435456, "
                    "\"heads\": 1, \"vocab\": 268435456, \"seq\": 1},\n"
                    "\"prev\": \"PP1\", \"curr\": \"PP2\", "
                    "\"cluster\": {\"nodes\": [2]}}"),
            "exit 1: r.json:1:11: error: model: expected a model of at most "
            "2^56 elements, got more; use fewer layers or smaller sizes");
}

TEST(Check, WorldsFitTheCluster) {
  EXPECT_EQ(check("\"prev\": \"PP9TP4\", \"curr\": \"PP4\""),
            "exit 1: r.json:2:9: error: prev: PP9TP4 needs 36 devices, but the "
            "cluster has 24; use at most 24 ranks or a larger cluster");
  EXPECT_EQ(check("\"prev\": \"PP6TP4\", \"curr\": \"PP6TP4\", \"failed\": "
                  "[3], \"draining\": [4, 5]"),
            "exit 1: r.json:2:27: error: curr: PP6TP4 needs 24 devices, but "
            "the cluster has 24, of which 3 failed or draining; use at most 21 "
            "ranks or a larger cluster");
}

TEST(Check, FailedAndDrainingAreInTheCluster) {
  EXPECT_EQ(check("\"prev\": \"PP4\", \"curr\": \"PP4\", \"failed\": [24]"),
            "exit 1: r.json:2:41: error: failed: device 24 is not in the "
            "cluster; expected 0 to 23");
  EXPECT_EQ(check("\"prev\": \"PP4\", \"curr\": \"PP4\", \"draining\": [3], "
                  "\"failed\": [3]"),
            "exit 1: r.json:2:43: error: draining: device 3 has failed and can "
            "send nothing; list it under failed alone");
}

TEST(Check, DeviceLists) {
  EXPECT_EQ(check("\"prev\": {\"pp\": 2, \"devices\": [0, 1, 2]}, "
                  "\"curr\": \"PP4\""),
            "exit 1: r.json:2:30: error: prev.devices: expected 2 devices, one "
            "for each rank of PP2, got 3");
  EXPECT_EQ(check("\"prev\": {\"pp\": 2, \"devices\": [0, 24]}, "
                  "\"curr\": \"PP4\""),
            "exit 1: r.json:2:30: error: prev.devices: device 24 is not in the "
            "cluster; expected 0 to 23");
  EXPECT_EQ(check("\"prev\": {\"pp\": 2, \"devices\": [5, 5]}, "
                  "\"curr\": \"PP4\""),
            "exit 1: r.json:2:30: error: prev.devices: device 5 is listed "
            "twice; a device takes one rank");
  EXPECT_EQ(check("\"prev\": \"PP4\", \"curr\": {\"pp\": 2, \"devices\": [3, "
                  "2]}, \"failed\": [3]"),
            "exit 1: r.json:2:45: error: curr.devices: device 3 is failed or "
            "draining; use one that is neither");
  EXPECT_EQ(check("\"prev\": {\"pp\": 2, \"devices\": [3, 2]}, "
                  "\"curr\": \"PP4\", \"failed\": [3]"),
            "");
}
