//===- BoundariesFixture.h - A planned request to change -------*- C++ -*-===//

#ifndef ETC_TEST_UNIT_VERIFY_BOUNDARIESFIXTURE_H
#define ETC_TEST_UNIT_VERIFY_BOUNDARIESFIXTURE_H

#include "core/plan/PlanFile.h"
#include "etc/Planner/PlanRequest.h"
#include "etc/Verify/Boundaries.h"

#include <gtest/gtest.h>

namespace etc::test {
using namespace mlir;
using request::Request;

using Options = std::map<std::string, std::string, std::less<>>;

/// Padded, tied and derived tensors, on both sides.
inline const Options usual = {
    {"model", "gpt2"},  {"layers", "4"},    {"hidden", "64"},
    {"heads", "8"},     {"vocab", "1100"},  {"prev", "PP2TP2"},
    {"curr", "PP4TP1"}, {"cluster", "2x4"}, {"draining", "7"}};

/// A request of a small model.
inline Options smallRequest(const char *prev, const char *curr,
                            const char *cluster, Options more = {}) {
  more.insert({{"model", "gpt2"},
               {"layers", "4"},
               {"hidden", "64"},
               {"heads", "4"},
               {"vocab", "100"},
               {"seq", "4"},
               {"prev", prev},
               {"curr", curr},
               {"cluster", cluster}});
  return more;
}

class Boundaries : public testing::Test {
protected:
  Boundaries()
      : handler(&context, [&](Diagnostic &diagnostic) {
          error = diagnostic.str();
          return success();
        }) {}

  void plan(const Options &options, const PlanOptions &how = {}) {
    request::Overrides overrides;
    overrides.values = options;
    llvm::Expected<Request> read = requestFromOptions(overrides);
    ASSERT_TRUE(static_cast<bool>(read)) << toString(read.takeError());
    request = std::move(*read);
    llvm::Error refusal = checkRequest(request);
    ASSERT_FALSE(static_cast<bool>(refusal)) << toString(std::move(refusal));
    FailureOr<PlannedRequest> made = planRequest(context, request, how);
    ASSERT_TRUE(succeeded(made)) << error;
    planned = std::move(*made);
    for (MigrationOp migration : planned.module->getOps<MigrationOp>())
      migrations.push_back(migration);
  }

  /// The error about the file with a change; "" is approval.
  std::string ofFile(llvm::function_ref<void(plan::fb::PlanT &)> change) {
    plan::fb::PlanT file;
    plan::fb::GetPlan(planned.plans.front().data())->UnPackTo(&file);
    change(file);
    const std::vector<uint8_t> bytes = plan::packPlan(std::move(file));
    error.clear();
    const bool approved = succeeded(
        verifyPlanFile(migrations.front(), *plan::fb::GetPlan(bytes.data())));
    EXPECT_EQ(approved, error.empty());
    return error;
  }

  /// The error about the request with a change.
  std::string ofRequest(llvm::function_ref<void(Request &)> change) {
    Request other = request;
    change(other);
    error.clear();
    const bool approved = succeeded(verifyRequest(migrations.front(), other));
    EXPECT_EQ(approved, error.empty());
    return error;
  }

  /// The error about the IR with a change, which is undone.
  std::string ofMigration(llvm::function_ref<void(MigrationOp)> change) {
    OwningOpRef<ModuleOp> copy = planned.module->clone();
    MigrationOp migration = *copy->getOps<MigrationOp>().begin();
    change(migration);
    error.clear();
    const bool approved = succeeded(verifyRequest(migration, request));
    EXPECT_EQ(approved, error.empty());
    return error;
  }

  /// The error about the second stage with a change.
  std::string ofSecond(llvm::function_ref<void(MigrationOp)> change) {
    OwningOpRef<ModuleOp> copy = planned.module->clone();
    auto both = llvm::to_vector(copy->getOps<MigrationOp>());
    change(both[1]);
    error.clear();
    const bool approved = succeeded(verifyNextStage(both[0], both[1]));
    EXPECT_EQ(approved, error.empty());
    return error;
  }

  size_t planFileTensors() const {
    return plan::fb::GetPlan(planned.plans.front().data())->tensors()->size();
  }

  MLIRContext context;
  ScopedDiagnosticHandler handler;
  std::string error;
  Request request;
  PlannedRequest planned;
  SmallVector<MigrationOp> migrations;
};

/// The first tensor of a name.
inline TensorOp tensorOf(MigrationOp migration, StringRef name) {
  for (TensorOp op : migration.getOps<TensorOp>())
    if (op.getName() == name)
      return op;
  ADD_FAILURE() << "no tensor " << name.str();
  return nullptr;
}

inline constexpr StringLiteral words = "embedding.word_embeddings.weight",
                               output = "output_layer.weight",
                               inputNorm =
                                   "decoder.layers.1.input_layernorm.weight";

} // namespace etc::test

#endif // ETC_TEST_UNIT_VERIFY_BOUNDARIESFIXTURE_H
