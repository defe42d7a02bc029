// One malformed problem for each constraint.

#include "etc/Optimize/Rounds/Problem.h"

#include <gtest/gtest.h>

namespace etc::rounds {
namespace {

/// A tensor of 20 bytes moves in two chunks.
Problem wellFormed() {
  return {{{20, 0, 40, 10, 0}, {0, 20, 40, 0, 10}},
          {{{{0, 0, 0, 10, 0}, {1, 20, 0, 0, 10}}},
           {{{0, 0, 20, 10, 0}, {1, 0, 0, 0, 10}}, 0}}};
}

template <typename Change> std::string errorAfter(Change change) {
  Problem problem = wellFormed();
  change(problem);
  return check(problem).value_or("well formed");
}

TEST(CheckTest, WellFormed) {
  EXPECT_EQ(errorAfter([](Problem &) {}), "well formed");
  EXPECT_EQ(check(Problem()), std::nullopt);
}

TEST(CheckTest, P1Bytes) {
  EXPECT_EQ(errorAfter([](Problem &p) { p.classes[1].limit = -1; }),
            "classes[1]: expected bytes of at least 0, got -1");
  EXPECT_EQ(errorAfter([](Problem &p) { p.units[1].touches[0].sent = -5; }),
            "units[1].touches[0]: expected bytes of at least 0, got -5");
}

TEST(CheckTest, P3DeferredBeforeOthers) {
  EXPECT_EQ(errorAfter([](Problem &p) { p.units[1].isDeferred = true; }),
            "well formed");
  EXPECT_EQ(errorAfter([](Problem &p) { p.units[0].isDeferred = true; }),
            "units[1].before: unit 0 is deferred, and this one is not");
}

TEST(CheckTest, P2Touches) {
  EXPECT_EQ(
      errorAfter([](Problem &p) { p.units[0].touches[1].deviceClass = 2; }),
      "units[0].touches[1]: class 2 is not in [0, 2)");
  EXPECT_EQ(
      errorAfter([](Problem &p) { p.units[0].touches[1].deviceClass = 0; }),
      "units[0].touches[1]: classes must be strictly ascending, got 0 "
      "after 0");
}

TEST(CheckTest, P3Order) {
  EXPECT_EQ(errorAfter([](Problem &p) { p.units[1].before = 1; }),
            "units[1].before: unit 1 is not in [0, 1)");
  EXPECT_EQ(errorAfter([](Problem &p) { p.units[0].after = 1; }),
            "units[0].after: unit 1 is not in [0, 0)");
  EXPECT_EQ(errorAfter([](Problem &p) { p.units[1].after = -2; }),
            "units[1].after: unit -2 is not in [0, 1)");
}

TEST(CheckTest, P4States) {
  EXPECT_EQ(errorAfter([](Problem &p) { p.classes[1].curr = 30; }),
            "classes[1].curr: the units leave 20 bytes, got 30");
  EXPECT_EQ(errorAfter([](Problem &p) { p.units[1].touches[0].released = 10; }),
            "classes[0].curr: the units leave 10 bytes, got 0");
}

TEST(CheckTest, P5Magnitudes) {
  const std::string error = "classes[0]: sums of bytes exceed 2^60";
  EXPECT_EQ(errorAfter([](Problem &p) { p.classes[0].limit = INT64_MAX; }),
            error);
  EXPECT_EQ(errorAfter([](Problem &p) {
              for (Unit &unit : p.units)
                unit.touches[0].sent = (int64_t(1) << 59) + 1;
            }),
            error);
}

TEST(CheckTest, P6Loads) {
  auto errorOf = [](std::vector<Load> loads, int64_t roundTime = 5) {
    return errorAfter([&](Problem &p) {
      p.ports = 2;
      p.roundTime = roundTime;
      p.units[1].loads = std::move(loads);
    });
  };
  EXPECT_EQ(errorOf({{0, 1}, {1, 7}}), "well formed");
  EXPECT_EQ(errorOf({{2, 1}}), "units[1].loads[0]: port 2 is not in [0, 2)");
  EXPECT_EQ(errorOf({{1, 1}, {1, 1}}),
            "units[1].loads[1]: ports must be strictly ascending, got 1 "
            "after 1");
  EXPECT_EQ(errorOf({{0, -1}}),
            "units[1].loads[0]: expected a time of at least 0, got -1");
  EXPECT_EQ(errorOf({}, -1),
            "roundTime: expected a time of at least 0, got -1");
  EXPECT_EQ(errorOf({{0, INT64_MAX}}),
            "units: the times of port 0 exceed 2^60");
}

} // namespace
} // namespace etc::rounds
