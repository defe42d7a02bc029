// Migrations through the C API, as a program of another language calls it.

#include "PlanFixture.h"

#include "etc-c/store.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

using namespace etc::plan::test;

namespace {

/// The error's text, or "".
std::string take(etc_error *error) {
  if (!error)
    return "";
  std::string message = etc_error_message(error);
  etc_error_free(error);
  return message;
}

class MigrationApiTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-migration-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    const std::vector<uint8_t> bytes = etc::plan::packPlan(twoStagePlan());
    ASSERT_EQ(take(etc_plan_read(bytes.data(), bytes.size(), &plan)), "");
  }
  void TearDown() override {
    etc_plan_free(plan);
    std::filesystem::remove_all(directory);
  }

  etc_migration *create(uint32_t participant) const {
    etc_options options;
    etc_options_init(&options);
    options.participant = participant;
    options.host = "127.0.0.1";
    options.directory = directory.c_str();
    etc_migration *migration = nullptr;
    EXPECT_EQ(take(etc_migration_create(plan, &options, &migration)), "");
    return migration;
  }

  static void add(etc_migration *migration, const char *type, const char *name,
                  etc_dtype dtype, void *data, std::vector<int64_t> shape) {
    etc_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype = dtype;
    tensor.data = data;
    tensor.axes = shape.size();
    int64_t stride = 1;
    for (size_t axis = shape.size(); axis-- != 0; stride *= shape[axis]) {
      tensor.shape[axis] = shape[axis];
      tensor.strides[axis] = stride;
    }
    EXPECT_EQ(take(etc_migration_register(migration, type, name, &tensor)), "");
  }

  /// Calls ask(value): the value, or the error's text.
  template <typename Ask> static std::string valueOf(Ask ask) {
    etc_value *value = etc_value_new();
    std::string result = take(ask(value));
    if (result.empty()) {
      size_t size = 0;
      const void *data = etc_value_data(value, &size);
      result.assign(static_cast<const char *>(data), size);
    }
    etc_value_free(value);
    return result;
  }
  static std::string inventory(const etc_migration *migration) {
    return valueOf([&](etc_value *value) {
      return etc_migration_inventory(migration, value);
    });
  }
  std::string inventory(etc_side side, uint32_t participant) const {
    return valueOf([&](etc_value *value) {
      return etc_plan_inventory(plan, side, participant, value);
    });
  }

  std::string directory;
  etc_plan *plan = nullptr;
};

TEST_F(MigrationApiTest, WhatComesTooEarlyNamesWhatComesFirst) {
  auto body = [&](uint32_t rank) {
    etc_migration *migration = create(rank);
    EXPECT_EQ(take(etc_migration_run(migration)),
              "cannot run: the migration is not prepared; "
              "etc_migration_prepare() comes first");
    EXPECT_EQ(take(etc_migration_finish(migration)),
              "cannot finish: the migration is not prepared; "
              "etc_migration_prepare() comes first");
    std::vector<uint16_t> embedding(20), layer(16);
    std::vector<float> master(16), norm(4);
    add(migration, "param", "norm.weight", ETC_FP32, norm.data(), {4});
    if (rank < 2) {
      add(migration, "param", "embedding.weight", ETC_BF16, embedding.data(),
          {5, 4});
    } else {
      add(migration, "param", "layer.weight", ETC_BF16, layer.data(), {4, 4});
      add(migration, "master", "layer.weight", ETC_FP32, master.data(), {4, 4});
    }
    ASSERT_EQ(take(etc_migration_prepare(migration)), "");
    EXPECT_EQ(inventory(migration), inventory(ETC_PREV, rank));
    const std::string missing =
        ": the migration has not run; etc_migration_run() comes first";
    EXPECT_EQ(take(etc_migration_finish(migration)), "cannot finish" + missing);
    EXPECT_EQ(take(etc_migration_wait(migration, 0)), "cannot wait" + missing);
    EXPECT_EQ(take(etc_migration_prepare(migration)),
              "cannot prepare: the migration is prepared already");
    EXPECT_EQ(take(etc_migration_run(migration)), "");
    EXPECT_EQ(take(etc_migration_finish(migration)), "");
    EXPECT_EQ(take(etc_migration_run(migration)),
              "cannot run: the migration has run");
    EXPECT_EQ(inventory(migration), inventory(ETC_CURR, rank));
    etc_migration_free(migration);
  };
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank != 4; ++rank)
    threads.emplace_back(body, rank);
}

TEST_F(MigrationApiTest, AnInventoryListsBoxes) {
  const std::string json = inventory(ETC_PREV, 0);
  EXPECT_NE(json.find("{\"device\": 0, \"has\": [0, 1]}"), std::string::npos)
      << json;
  EXPECT_NE(json, inventory(ETC_CURR, 0));
  EXPECT_EQ(inventory(ETC_PREV, 4),
            "inventory: the plan does not say what participant 4 holds");
  EXPECT_EQ(take(etc_plan_inventory(plan, ETC_PREV, 0, nullptr)),
            "inventory: an argument is NULL");
}

/// A plan opens and migrates without its bounds; what shows one checks them.
TEST(PlanApiTest, ShowsNoForgedBound) {
  etc::plan::fb::PlanT forged = certifiedPlan();
  forged.certificates[0]->row_duals = {40, 56}; // with the same sum
  const std::vector<uint8_t> bytes = etc::plan::packPlan(std::move(forged));
  etc_plan *plan = nullptr;
  ASSERT_EQ(take(etc_plan_read(bytes.data(), bytes.size(), &plan)), "");
  const std::string refusal =
      "certificates[0]: row_duals[0] + column_duals[1] is 56, less than the 64 "
      "bytes of row 0 that column 1 has";
  etc_summary summary{};
  summary.struct_size = sizeof summary;
  EXPECT_EQ(take(etc_plan_summary(plan, &summary)), refusal);
  etc_certificate certificate{};
  certificate.struct_size = sizeof certificate;
  EXPECT_EQ(take(etc_plan_certificate(plan, 1, &certificate)), refusal);
  EXPECT_EQ(take(etc_plan_verify(plan)), refusal);
  etc_plan_free(plan);
}

/// The proof is not in a slice, so neither is a bound.
TEST(PlanApiTest, SlicesShowNoBound) {
  const std::vector<uint8_t> bytes = etc::plan::packPlan(certifiedPlan());
  etc_plan *plan = nullptr, *slice = nullptr;
  ASSERT_EQ(take(etc_plan_read(bytes.data(), bytes.size(), &plan)), "");
  ASSERT_EQ(take(etc_plan_slice(plan, 0, &slice)), "");
  etc_summary summary{};
  summary.struct_size = sizeof summary;
  ASSERT_EQ(take(etc_plan_summary(plan, &summary)), "");
  EXPECT_EQ(summary.bound_moved_bytes, 144u);
  ASSERT_EQ(take(etc_plan_summary(slice, &summary)), "");
  EXPECT_EQ(summary.bound_moved_bytes, 0u);
  EXPECT_EQ(summary.moved_bytes, 160u);
  etc_plan_free(slice);
  etc_plan_free(plan);
}

} // namespace
