// Recovery through the C API, as a program of another language calls it.

#include "PlanFixture.h"

#include "etc-c/recover.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
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

class RecoverApiTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-recover-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    const std::vector<uint8_t> bytes = etc::plan::packPlan(twoStagePlan());
    ASSERT_EQ(take(etc_plan_read(bytes.data(), bytes.size(), &plan)), "");
  }
  void TearDown() override {
    etc_plan_free(plan);
    std::filesystem::remove_all(directory);
  }

  etc_recovery_options options(uint32_t device) {
    etc_recovery_options made;
    etc_recovery_options_init(&made);
    made.device = device;
    made.devices = devices.data();
    made.device_count = devices.size();
    made.version = 5;
    made.timeout_seconds = 60;
    made.directory = directory.c_str();
    return made;
  }

  /// What is wrong with options that `change` has changed.
  std::string
  refused(const std::function<void(etc_recovery_options &)> &change) {
    etc_recovery_options made = options(0);
    change(made);
    etc_recovery *recovery = nullptr;
    std::string message = take(etc_recovery_create(&made, &recovery));
    etc_recovery_free(recovery);
    return message;
  }

  std::string directory;
  etc_plan *plan = nullptr;
  std::vector<uint32_t> devices{0, 2};
};

TEST_F(RecoverApiTest, TwoProcessesGoOn) {
  std::vector<uint16_t> embedding(20), layer(16);
  std::vector<float> master(16), norm(4);
  for (size_t i = 0; i != layer.size(); ++i)
    layer[i] = static_cast<uint16_t>(i);
  auto body = [&](uint32_t device) {
    etc_recovery_options mine = options(device);
    etc_recovery *recovery = nullptr;
    ASSERT_EQ(take(etc_recovery_create(&mine, &recovery)), "");
    EXPECT_EQ(take(etc_recovery_register(recovery, "param", "norm.weight",
                                         norm.data())),
              "register: no plan says what this process holds");
    ASSERT_EQ(take(etc_recovery_hold_plan(recovery, plan, ETC_PREV)), "");
    const auto add = [&](const char *type, const char *name, void *data) {
      EXPECT_EQ(take(etc_recovery_register(recovery, type, name, data)), "");
    };
    add("param", "norm.weight", norm.data());
    if (device == 0) {
      add("param", "embedding.weight", embedding.data());
    } else {
      add("param", "layer.weight", layer.data());
      add("master", "layer.weight", master.data());
    }
    EXPECT_EQ(take(etc_recovery_register(recovery, "param", "x", nullptr)),
              "x (param): the plan has no such tensor");
    etc_recovered state{};
    state.struct_size = sizeof state;
    EXPECT_EQ(take(etc_recovery_state(recovery, &state)),
              "etc_recovery_agree() comes first");

    ASSERT_EQ(take(etc_recovery_agree(recovery)), "");
    size_t count = 0;
    const uint32_t *members = etc_recovery_devices(recovery, &count);
    EXPECT_EQ(std::vector<uint32_t>(members, members + count), devices);
    EXPECT_EQ(etc_recovery_generation(recovery), 1u);
    EXPECT_EQ(etc_recovery_base(recovery), 0);
    ASSERT_EQ(take(etc_recovery_state(recovery, &state)), "");
    EXPECT_EQ(state.version, 5);
    EXPECT_EQ(state.dropped_devices, 0u);
    EXPECT_EQ(state.restored_bytes, 0u);
    const char *json = nullptr;
    ASSERT_EQ(take(etc_recovery_inventory(recovery, &json)), "");
    EXPECT_NE(std::string(json).find("{\"device\": 2, \"has\": ["),
              std::string::npos)
        << json;

    const void *found = nullptr;
    EXPECT_EQ(
        take(etc_recovery_find(recovery, plan, "param", "norm.weight", &found)),
        "");
    EXPECT_EQ(found, norm.data());
    if (device == 2) {
      std::vector<uint16_t> copy(16);
      EXPECT_EQ(take(etc_recovery_fill(recovery, plan, "param", "layer.weight",
                                       copy.data())),
                "");
      EXPECT_EQ(copy, layer);
      EXPECT_EQ(take(etc_recovery_fill(recovery, plan, "param",
                                       "embedding.weight", copy.data())),
                "embedding.weight (param): device 2 holds no such tensor "
                "before the migration");
      EXPECT_EQ(take(etc_recovery_put(recovery, "word", "hello", 5)), "");
    } else {
      const void *word = nullptr;
      size_t size = 0;
      EXPECT_EQ(take(etc_recovery_get(recovery, "word", 60, &word, &size)), "");
      EXPECT_EQ(std::string(static_cast<const char *>(word), size), "hello");
    }
    etc_recovery_free(recovery);
  };
  std::jthread first(body, 0), second(body, 2);
}

TEST_F(RecoverApiTest, WhatNobodyHoldsIsNamed) {
  etc_recovery_options mine = options(0);
  mine.patience_seconds = 0.01;
  mine.timeout_seconds = 0.3;
  etc_recovery *recovery = nullptr;
  ASSERT_EQ(take(etc_recovery_create(&mine, &recovery)), "");
  ASSERT_EQ(take(etc_recovery_hold_plan(recovery, plan, ETC_PREV)), "");
  etc_error *error = etc_recovery_agree(recovery);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(etc_error_kind_of(error), ETC_ERROR_PEER);
  EXPECT_EQ(take(error),
            "no recovery within 0.3 s: nobody holds layer.weight (param)[0:4, "
            "0:4] of step 5 and 1 more boxes, 96 bytes; a checkpoint of that "
            "step can have them");
  etc_recovery_free(recovery);
}

TEST_F(RecoverApiTest, WrongOptionsAreRefused) {
  std::vector<uint32_t> twice{0, 0};
  EXPECT_EQ(refused([&](auto &o) { o.devices = twice.data(); }),
            "devices: expected them in ascending order");
  EXPECT_EQ(refused([](auto &o) { o.device = 1; }),
            "devices: this process's device 1 is not among them");
  EXPECT_EQ(refused([](auto &o) { o.directory = nullptr; }),
            "processes have no way to find each other: set store and "
            "set_first, or directory");
  EXPECT_EQ(refused([](auto &o) { o.patience_seconds = -1; }),
            "patience_seconds -1: expected seconds, or 0 for the default");
  EXPECT_NE(refused([](auto &o) { o.restore_from = "/nowhere"; }), "");
  EXPECT_NE(take(etc_recovery_create(nullptr, nullptr)), "");
}

} // namespace
