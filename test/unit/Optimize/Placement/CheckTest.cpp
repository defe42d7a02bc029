// One malformed problem for each constraint.

#include "Cases.h"

#include <gtest/gtest.h>

namespace etc::placement {
namespace {

/// Two roles that stay, of which the second shares a span with its device.
Problem wellFormed() {
  return testing::readCase(R"(
group 2
ranks 0 1
node 0 : 0 1
device rows 0 1
device columns 0 1
device base 16 0
device base 0 16
device pair 1 1 4
node rows 0 1
node columns 0
node base 16
node base 16
node pair 1 0 4
)")
      .problem;
}

template <typename Change> std::string errorAfter(Change change) {
  Problem problem = wellFormed();
  change(problem);
  return check(problem).value_or("well formed");
}

TEST(CheckTest, WellFormed) {
  EXPECT_EQ(errorAfter([](Problem &) {}), "well formed");
}

TEST(CheckTest, P1Sizes) {
  EXPECT_EQ(errorAfter([](Problem &p) { p.replicas = 0; }),
            "replicas: expected at least 1, got 0");
  EXPECT_EQ(errorAfter([](Problem &p) { p.groupSize = 0; }),
            "groupSize: expected at least 1, got 0");
  EXPECT_EQ(errorAfter([](Problem &p) { p.onNode = {}; }),
            "onNode: expected at least 1 role, got none");
  EXPECT_EQ(errorAfter([](Problem &p) { p.onDevice = {}; }),
            "onDevice: expected 2 roles, got 0");
}

TEST(CheckTest, P2Groups) {
  EXPECT_EQ(errorAfter([](Problem &p) { p.groups = {0}; }),
            "groups: expected 2 ranks, got 1");
  EXPECT_EQ(errorAfter([](Problem &p) { p.groups[1] = 2; }),
            "groups[1]: rank 2 is not in [0, 2)");
  EXPECT_EQ(errorAfter([](Problem &p) { p.groups[1] = 0; }),
            "groups[1]: rank 0 is listed twice");
  EXPECT_EQ(errorAfter([](Problem &p) { p.stages = 2; }),
            "stages: 2 ranks are not groups of 2 on 2 stages");
  EXPECT_EQ(errorAfter([](Problem &p) { p.stages = 0; }),
            "stages: 2 ranks are not groups of 2 on 0 stages");
}

TEST(CheckTest, P3Devices) {
  EXPECT_EQ(errorAfter([](Problem &p) { p.devices[1].node = 1; }),
            "devices[1].node: 1 is not in [0, 1)");
  EXPECT_EQ(errorAfter([](Problem &p) {
              p.nodeClass = {0, 0};
              p.devices[0].node = 1;
            }),
            "devices[1].node: must be ascending, got 0 after 1");
  EXPECT_EQ(errorAfter([](Problem &p) { p.devices[0].prevRole = 2; }),
            "devices[0].prevRole: 2 is not in [-1, 2)");
  EXPECT_EQ(
      errorAfter([](Problem &p) { p.devices[0].status = Status::Failed; }),
      "devices[0]: has failed, but has the state of role 0");
}

TEST(CheckTest, P4Nodes) {
  EXPECT_EQ(errorAfter([](Problem &p) { p.nodeClass[0] = 1; }),
            "nodeClass[0]: 1 is not in [0, 1)");
}

TEST(CheckTest, P5Benefits) {
  EXPECT_EQ(errorAfter([](Problem &p) { p.onDevice.atGroups(0, 1) = -1; }),
            "onDevice: groups 0 and 1 have -1 bytes");
  EXPECT_EQ(errorAfter([](Problem &p) { p.onNode.add(1, 0, -5); }),
            "onNode: row 1 and column 0 have -1 bytes beyond their groups");
  EXPECT_EQ(errorAfter([](Problem &p) { p.onNode.atGroups(0, 0) = 15; }),
            "devices[0]: role 0 keeps 16 (0 beyond its group) on it, but 15 "
            "(0) on its node");
  EXPECT_EQ(errorAfter([](Problem &p) { p.onNode.add(1, 0, -1); }),
            "devices[1]: role 1 keeps 20 (4 beyond its group) on it, but 19 "
            "(3) on its node");
}

TEST(CheckTest, P6Magnitudes) {
  EXPECT_EQ(errorAfter(
                [](Problem &p) { p.onNode.atGroups(0, 0) = int64_t(1) << 58; }),
            "what all ranks keep, times ranks and devices, exceeds 2^60");
}

} // namespace
} // namespace etc::placement
