//===- BoundariesTest.cpp - V13, V14: requests and stages ----------------===//
//
// One thing is changed behind a boundary, and the rule of the boundary says so.
//
//===----------------------------------------------------------------------===//

#include "BoundariesFixture.h"

using namespace etc;
using namespace etc::test;

namespace {

std::string inMigration(const std::string &name, const std::string &found,
                        const std::string &expected) {
  return "internal error: " + name + " is " + found + " in the migration, " +
         expected + " in the request (V13)";
}

std::string inSecond(const std::string &name, const std::string &found,
                     const std::string &expected) {
  return "internal error: " + name + " is " + found + " in the second stage, " +
         expected + " in the first (V14)";
}

//===----------------------------------------------------------------------===//
// V13
//===----------------------------------------------------------------------===//

TEST_F(Boundaries, MigrationHasTheFields) {
  plan(usual);
  EXPECT_EQ(ofRequest([](Request &) {}), "");
  EXPECT_EQ(ofRequest([](Request &r) { r.prev.parallel.cp = 2; }),
            inMigration("prev.cp", "1", "2"));
  EXPECT_EQ(ofRequest([](Request &r) {
              r.curr.parallel.order = request::RankOrder::TpCpEpPpDp;
            }),
            inMigration("curr.order", "0", "1"));
  EXPECT_EQ(ofRequest([](Request &r) {
              r.curr.devices = {{0, 1, 2, 3}};
            }),
            inMigration("curr.devices.given", "0", "1"));
  EXPECT_EQ(ofRequest([](Request &r) { r.nodes = {8}; }),
            inMigration("nodes.size", "2", "1"));
  EXPECT_EQ(ofRequest([](Request &r) { std::swap(r.failed, r.draining); }),
            inMigration("failed.size", "0", "1"));
  EXPECT_EQ(ofRequest([](Request &r) { r.place = "any"; }),
            inMigration("place", "pack", "any"));
  EXPECT_EQ(ofMigration([](MigrationOp migration) {
              migration.setPolicy(Policy::Paper);
            }),
            inMigration("policy paper", "1", "0"));
  EXPECT_EQ(ofRequest([](Request &r) { r.derive = "none"; }),
            inMigration("derive none", "0", "1"));
  EXPECT_EQ(ofRequest([](Request &r) {
              r.memoryBudget = {request::MemoryBudget::Unit::Bytes, 1000};
              r.reserve = 1;
            }),
            inMigration("budget_bytes", "0", "999"));
  EXPECT_EQ(ofRequest([](Request &r) { r.reserve = 1; }),
            inMigration("budget_reserve", "0", "1"));
}

/// As many of other types are not the same.
TEST_F(Boundaries, MigrationHasTheDeferredTypes) {
  Options options = usual;
  options["defer"] = "optimizer";
  plan(options);
  EXPECT_EQ(ofRequest([](Request &) {}), "");
  const std::string asked = "exp_avg, exp_avg_sq, master";
  EXPECT_EQ(ofMigration([&](MigrationOp migration) {
              Builder builder(migration.getContext());
              migration.setDeferredAttr(
                  builder.getStrArrayAttr({"param", "master", "exp_avg"}));
            }),
            inMigration("the deferred types", "exp_avg, master, param", asked));
  EXPECT_EQ(ofRequest([](Request &r) { r.defer = {"none"}; }),
            inMigration("the deferred types", asked, "none"));
  EXPECT_EQ(ofRequest([](Request &r) { r.defer = {"exp_avg"}; }),
            inMigration("the deferred types", asked, "exp_avg"));
  EXPECT_EQ(ofRequest([](Request &r) { r.gradientBytes = 2; }),
            inMigration("gradient bytes", "4", "2"));
}

TEST_F(Boundaries, MigrationHasTheTypes) {
  plan(usual);
  EXPECT_EQ(ofRequest([](Request &r) {
              r.types = {"param", "master"};
            }),
            inMigration("type 2", "exp_avg", "absent"));
  EXPECT_EQ(ofRequest([](Request &r) { r.model.precision = "fp16"; }),
            inMigration("the type param", "bf16", "fp16"));
  EXPECT_EQ(ofRequest([](Request &r) {
              r.model.stateDTypes = {{"master", "fp16"}};
            }),
            inMigration("the source of the type param", "master", "none"));
  EXPECT_EQ(ofRequest([](Request &r) { r.model.optimizer = "lion"; }),
            inMigration("type 3", "exp_avg_sq", "absent"));
}

TEST_F(Boundaries, MigrationHasTheModelsSizes) {
  plan(usual);
  auto change = [&](auto member, int64_t value) {
    return ofRequest([&](Request &r) { r.model.*member = value; });
  };
  using request::ModelSpec;
  EXPECT_EQ(change(&ModelSpec::vocab, 1200),
            inMigration("vocab", "1100", "1200"));
  EXPECT_EQ(change(&ModelSpec::vocabMultiple, 100),
            inMigration(words.str() + ".prev extents[1]", "1280", "1200"));
  EXPECT_EQ(change(&ModelSpec::ffn, 512),
            inMigration("decoder.layers.{layer}.mlp.linear_fc1.weight.prev "
                        "extents[1]",
                        "256", "512"));
  EXPECT_EQ(change(&ModelSpec::kvHeads, 4),
            inMigration("decoder.layers.{layer}.self_attention.linear_qkv."
                        "weight.prev extents[1]",
                        "192", "128"));
  EXPECT_EQ(ofMigration([](MigrationOp migration) {
              tensorOf(migration, words).removePrevShapeAttr();
            }),
            inMigration(words.str() + ".prev extents[1]", "1152", "1280"));
  EXPECT_EQ(ofMigration([](MigrationOp migration) {
              tensorOf(migration,
                       "decoder.layers.{layer}.mlp.linear_fc2.weight")
                  .erase();
            }),
            inMigration("the MLPs of dense layers", "absent", "present"));
}

TEST_F(Boundaries, MigrationHasGatesAndExperts) {
  plan({{"model", "mixtral-8x7b"},
        {"layers", "4"},
        {"prev", "PP2EP1"},
        {"curr", "DP2EP2"},
        {"cluster", "1x2"}});
  const std::string gate =
      "decoder.layers.{layer}.mlp.experts.linear_fc1.weight{expert}";
  EXPECT_EQ(ofRequest([](Request &) {}), "");
  // Between the two halves instead of through each.
  EXPECT_EQ(ofMigration([&](MigrationOp migration) {
              tensorOf(migration, gate).setSplit(0);
            }),
            inMigration(gate + ".prev extents[0]", "1", "2"));
  EXPECT_EQ(ofMigration([&](MigrationOp migration) {
              tensorOf(migration, gate).setOfLayers(ArrayRef<int64_t>{0, 3});
            }),
            inMigration(gate + ".layers[1]", "3", "4"));
  EXPECT_EQ(ofRequest([](Request &r) { r.model.experts.count = 16; }),
            inMigration("experts", "8", "16"));
}

TEST_F(Boundaries, MigrationHasTheLayersOfStages) {
  Options options = usual;
  options["prev"] = "PP2TP2+stages=3:1";
  plan(options);
  auto split = [](const std::string &layout) {
    return [layout](Request &r) {
      r.prev.parallel.stages = {3, 1};
      r.prev.split.layout = layout;
    };
  };
  EXPECT_EQ(ofRequest(split("Et*3|tL")), "");
  EXPECT_EQ(ofRequest(split("E(t)*3|,tL")), "");
  EXPECT_EQ(ofRequest(split("Ett|(t)*2L")),
            inMigration("prev.layers of chunks[0]", "3", "2"));
  EXPECT_EQ(ofRequest([](Request &r) { r.prev.split.firstStage = 2; }),
            inMigration("prev.layers of stages[0]", "3", "2"));
}

//===----------------------------------------------------------------------===//
// V14
//===----------------------------------------------------------------------===//

TEST_F(Boundaries, SecondStageGoesOn) {
  Options options = usual;
  options.erase("draining");
  options["policy"] = "paper";
  PlanOptions how;
  how.twoStage = true;
  plan(options, how);
  ASSERT_EQ(migrations.size(), 2u);
  EXPECT_EQ(ofSecond([](MigrationOp) {}), "");
  EXPECT_EQ(ofSecond([](MigrationOp second) {
              SmallVector<int64_t> devices = second.getPrevPlacement();
              std::swap(devices[0], devices[1]);
              second.setPrevDevices(devices);
            }).substr(0, 49),
            "internal error: the placement between them[0] is ");
  EXPECT_EQ(ofSecond([](MigrationOp second) {
              second.setNodes(ArrayRef<int64_t>{8});
            }),
            inSecond("nodes", "array<i64: 8>", "array<i64: 4, 4>"));
  EXPECT_EQ(ofSecond([](MigrationOp second) { second.setBudgetBytes(7); }),
            inSecond("budget_bytes", "7 : i64", "absent"));
  EXPECT_EQ(ofSecond([](MigrationOp second) {
              tensorOf(second, output).erase();
            }).substr(0, 32),
            "internal error: tensors.size is ");
  // Rows of the previous side of the first stage.
  error = ofSecond([](MigrationOp second) {
    tensorOf(second, words).setPrevShape(ArrayRef<int64_t>{1280, 64});
  });
  EXPECT_TRUE(StringRef(error).starts_with("internal error: a tensor is {"))
      << error;
  EXPECT_TRUE(StringRef(error).contains("prev_shape = array<i64: 1280, 64>"))
      << error;
}

} // namespace
