//===- PlanFileTest.cpp - V12: a plan file against its migration ---------===//
//
// One thing is changed behind a boundary, and the rule of the boundary says so.
//
//===----------------------------------------------------------------------===//

#include "BoundariesFixture.h"

using namespace etc;
using namespace etc::test;

namespace {

plan::fb::TensorT &tensorOf(plan::fb::PlanT &file, StringRef name,
                            StringRef type) {
  for (auto &tensor : file.tensors)
    if (tensor->name == name && tensor->type == type)
      return *tensor;
  ADD_FAILURE() << "no tensor " << name.str();
  return *file.tensors.front();
}

std::string inFile(const std::string &name, const std::string &found,
                   const std::string &expected) {
  return "internal error: " + name + " is " + found + " in the plan file, " +
         expected + " in the migration (V12)";
}

using plan::fb::PlanT;

TEST_F(Boundaries, FileHasTheWorld) {
  plan(usual);
  EXPECT_EQ(ofFile([](PlanT &) {}), "");
  EXPECT_EQ(ofFile([](PlanT &f) { f.model = "gpt3"; }),
            inFile("model", "gpt3", "custom"));
  EXPECT_EQ(ofFile([](PlanT &f) { f.vocab = 1280; }),
            inFile("vocab", "1280", "1100"));
  EXPECT_EQ(ofFile([](PlanT &f) { f.prev->tp = 4; }),
            inFile("prev.tp", "4", "2"));
  EXPECT_EQ(ofFile([](PlanT &f) {
              f.curr->order = plan::fb::RankOrder::tp_cp_ep_pp_dp;
            }),
            inFile("curr.order", "1", "0"));
  EXPECT_EQ(ofFile([](PlanT &f) {
              f.curr->stages = {1, 1, 1, 1};
            }),
            inFile("curr.stages.size", "4", "0"));
  EXPECT_EQ(ofFile([](PlanT &f) { f.prev->zero1 = true; }),
            inFile("prev.zero1", "1", "0"));
  EXPECT_EQ(ofFile([](PlanT &f) {
              std::swap(f.prev_placement[0], f.prev_placement[1]);
            }),
            inFile("prev_placement[0]", "1", "0"));
  EXPECT_EQ(ofFile([](PlanT &f) { f.curr_placement.pop_back(); }),
            inFile("curr_placement.size", "3", "4"));
  EXPECT_EQ(ofFile([](PlanT &f) {
              f.nodes = {4, 5};
            }),
            inFile("nodes[1]", "5", "4"));
  EXPECT_EQ(ofFile([](PlanT &f) { f.barred.clear(); }),
            inFile("barred.size", "0", "1"));
}

TEST_F(Boundaries, FileHasTheTensors) {
  plan(usual);
  EXPECT_EQ(ofFile([](PlanT &f) {
              tensorOf(f, words, "param").dtype = plan::fb::DType::fp16;
            }),
            inFile(words.str() + " of param", "fp16", "bf16"));
  EXPECT_EQ(
      ofFile([](PlanT &f) { tensorOf(f, words, "master").shape[0] = 1280; }),
      inFile(words.str() + " of master.shape[0]", "1280", "1152"));
  EXPECT_EQ(
      ofFile([](PlanT &f) { tensorOf(f, words, "master").prev_shape.clear(); }),
      inFile(words.str() + " of master.prev_shape[0]", "1152", "1280"));
  EXPECT_EQ(
      ofFile([](PlanT &f) { tensorOf(f, inputNorm, "param").view = {64}; }),
      inFile(inputNorm.str() + " of param.view.size", "1", "0"));
  EXPECT_EQ(ofFile([](PlanT &f) { f.tensors.pop_back(); }),
            "internal error: tensors.size is " +
                std::to_string(planFileTensors() - 1) + " in the plan file, " +
                std::to_string(planFileTensors()) + " in the migration (V12)");
}

TEST_F(Boundaries, FileHasTiesAndCasts) {
  plan(usual);
  const std::string copy = output.str() + " of master",
                    norm = inputNorm.str() + " of param";
  EXPECT_EQ(
      ofFile([](PlanT &f) { tensorOf(f, output, "master").tied_to = -1; }),
      inFile(copy + ".tied_to", "none", words.str() + " of master"));
  EXPECT_EQ(ofFile([](PlanT &f) { tensorOf(f, output, "master").tied_to = 0; }),
            inFile(copy + ".tied_to", words.str() + " of param",
                   words.str() + " of master"));
  EXPECT_EQ(
      ofFile([](PlanT &f) { tensorOf(f, inputNorm, "master").tied_to = 1; }),
      inFile(inputNorm.str() + " of master.tied_to", words.str() + " of master",
             "none"));
  EXPECT_EQ(ofFile([](PlanT &f) {
              tensorOf(f, inputNorm, "param").derived_from = 1;
            }),
            inFile(norm + ".derived_from", words.str() + " of master",
                   inputNorm.str() + " of master"));
  EXPECT_EQ(ofFile([](PlanT &f) {
              tensorOf(f, inputNorm, "param").is_derived = false;
            }),
            inFile(norm + ".is_derived", "0", "1"));
  const size_t casts = planFileTensors() / 4; // one of four types
  EXPECT_EQ(ofFile([](PlanT &f) {
              tensorOf(f, inputNorm, "param").derived_from = -1;
            }),
            inFile("tensors with derived_from", std::to_string(casts - 1),
                   std::to_string(casts)));
}

TEST_F(Boundaries, FileHasDeferredState) {
  Options options = usual;
  options["defer"] = "optimizer";
  plan(options);
  EXPECT_EQ(ofFile([](PlanT &) {}), "");
  EXPECT_EQ(ofFile([](PlanT &f) {
              tensorOf(f, inputNorm, "master").deferred = false;
            }),
            inFile(inputNorm.str() + " of master.deferred", "0", "1"));
  EXPECT_EQ(
      ofFile([](PlanT &f) { tensorOf(f, inputNorm, "param").deferred = true; }),
      inFile(inputNorm.str() + " of param.deferred", "1", "0"));
  EXPECT_EQ(ofFile([](PlanT &f) { --f.deferred_rounds; }).substr(0, 33),
            "internal error: deferred_rounds i");
  EXPECT_EQ(ofFile([](PlanT &f) { f.gradient_bytes = 2; }),
            inFile("gradient_bytes", "2", "4"));
  EXPECT_EQ(ofFile([](PlanT &f) { f.pause_bound.reset(); }),
            inFile("pause_bound", "absent", "present"));
  EXPECT_EQ(ofFile([](PlanT &f) { ++f.pause_bound->bytes; }).substr(0, 36),
            "internal error: pause_bound.bytes is");
  EXPECT_EQ(ofFile([](PlanT &f) { --f.programs[0]->tail_peak; }).substr(0, 40),
            "internal error: programs[0].tail_peak is");
}

TEST_F(Boundaries, FileHasNoTailWhereNoDeferredStateMoves) {
  Options options = usual;
  options["defer"] = "optimizer";
  options["curr"] = "PP2TP2";
  plan(options);
  EXPECT_EQ(ofFile([](PlanT &f) {
              EXPECT_EQ(f.deferred_rounds, 0u);
              for (const auto &program : f.programs) {
                EXPECT_EQ(program->tail_peak, 0u);
                EXPECT_EQ(program->tail_peak_safe, 0u);
              }
            }),
            "");
  EXPECT_EQ(ofFile([](PlanT &f) { f.programs[0]->tail_peak_safe = 8; }),
            inFile("programs[0].tail_peak_safe", "8", "0"));
}

TEST_F(Boundaries, FileHasProgramsAndDuals) {
  plan(usual);
  EXPECT_EQ(ofFile([](PlanT &f) { f.programs.pop_back(); }).substr(0, 37),
            "internal error: programs.size is 3 in");
  EXPECT_EQ(ofFile([](PlanT &f) { f.programs[0]->curr_role->mutate_stage(3); }),
            inFile("programs[0].curr_role[0]", "3", "0"));
  EXPECT_EQ(ofFile([](PlanT &f) { ++f.programs[0]->peak; }).substr(0, 35),
            "internal error: programs[0].peak is");
  EXPECT_EQ(
      ofFile([](PlanT &f) { f.programs[0]->devices = {9}; }).substr(0, 46),
      "internal error: programs[0].devices[0] is 9 in");
  EXPECT_EQ(ofFile([](PlanT &f) { f.certificates.pop_back(); }),
            inFile("certificates.size", "1", "2"));
  EXPECT_EQ(ofFile([](PlanT &f) {
              f.certificates[0]->quantity = plan::fb::Quantity::internode_bytes;
            }),
            inFile("the certificate of moved_bytes", "absent", "present"));
  EXPECT_EQ(ofFile([](PlanT &f) { f.certificates[0]->row_duals.pop_back(); }),
            inFile("moved_bytes.row_duals.size", "3", "4"));
}

} // namespace
