// Migrations through the C API, as a program of another language calls it.

#include "PlanFixture.h"

#include "etc-c/run.h"

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
    etc_migration_free(migration);
  };
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank != 4; ++rank)
    threads.emplace_back(body, rank);
}

} // namespace
