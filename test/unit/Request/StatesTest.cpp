//===- StatesTest.cpp - What is kept of every parameter -------------------===//

#include "etc/Request/States.h"

#include "Support.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc::request;

/// "param master ...", as a request names them by default.
static std::string typesOf(llvm::StringRef precision,
                           llvm::StringRef optimizer) {
  Request request = requestOf("{\"optimizer\": \"" + optimizer.str() +
                              "\", \"precision\": \"" + precision.str() +
                              "\", \"model\": \"gpt2\"}");
  std::string text;
  for (const std::string &type : request.types)
    text += (text.empty() ? "" : " ") + type;
  return text;
}

TEST(States, OfEachOptimizer) {
  EXPECT_EQ(typesOf("bf16", "adam"), "param master exp_avg exp_avg_sq");
  EXPECT_EQ(typesOf("bf16", "adam-bf16"), "param master exp_avg exp_avg_sq");
  EXPECT_EQ(typesOf("bf16", "muon"),
            "param master momentum_buffer exp_avg exp_avg_sq");
  EXPECT_EQ(typesOf("bf16", "adafactor"),
            "param master exp_avg_sq_row exp_avg_sq_col exp_avg_sq");
  EXPECT_EQ(typesOf("fp16", "sgd"), "param master momentum_buffer");
  EXPECT_EQ(typesOf("fp16", "lion"), "param master exp_avg");
}

TEST(States, OfEachPrecision) {
  EXPECT_EQ(typesOf("fp32", "adam"), "param exp_avg exp_avg_sq");
  EXPECT_EQ(typesOf("fp8", "adam"), "master exp_avg exp_avg_sq");
  EXPECT_EQ(typesOf("mxfp8", "adam"), "master exp_avg exp_avg_sq");
}

// The names of a table's states are distinct, and what one is derived from is
// there.
TEST(States, TablesAreConsistent) {
  for (llvm::StringRef precision : precisionNames())
    for (llvm::StringRef optimizer : optimizerNames()) {
      std::vector<State> states = statesOf(precision, optimizer);
      for (const State &state : states) {
        auto isNamed = [&](llvm::StringRef name) {
          return llvm::count_if(
              states, [&](const State &other) { return other.name == name; });
        };
        EXPECT_EQ(isNamed(state.name), 1) << state.name.str();
        if (!state.derivedFrom.empty()) {
          EXPECT_EQ(isNamed(state.derivedFrom), 1) << state.name.str();
        }
      }
    }
}

TEST(States, AMasterInHalfPrecisionIsNotCast) {
  ModelSpec model;
  EXPECT_EQ(statesOf(model).front().derivedFrom, "master");
  model.stateDTypes = {{"master", "fp16"}};
  EXPECT_EQ(statesOf(model).front().derivedFrom, "");
}

TEST(States, TheDistributedOptimizerCutsFlatRanges) {
  ModelSpec model;
  for (auto [optimizer, expected] :
       {std::pair("adam", true), std::pair("adam-bf16", true),
        std::pair("sgd", true), std::pair("muon", false),
        std::pair("adafactor", false)}) {
    model.optimizer = optimizer;
    EXPECT_EQ(canDistribute(model), expected) << optimizer;
  }
}
