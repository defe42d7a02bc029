// One malformed problem for each constraint.

#include "etc/Optimize/Routing/Problem.h"

#include <gtest/gtest.h>

namespace etc::routing {
namespace {

/// Two nodes of two devices. Device 0 has what 1 and 2 need, device 3 what 2
/// does.
Problem wellFormed() {
  Problem problem;
  addNode(problem, 2, 2, 900, 100);
  addNode(problem, 2, 1, 900, 100);
  problem.sets = {{0}, {1, 2}, {2}, {3}};
  problem.atoms = {{0, 1, 1000}, {3, 2, 500, 10}};
  return problem;
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

TEST(CheckTest, NodesShareNicsEvenly) {
  Problem problem;
  addNode(problem, 8, 4, 1, 1);
  addNode(problem, 4, 4, 1, 1);
  EXPECT_EQ(problem.devices[1].nic, 0);
  EXPECT_EQ(problem.devices[7].nic, 3);
  EXPECT_EQ(problem.devices[11].nic, 7);
  EXPECT_EQ(problem.nodeOf(8), 1);
  EXPECT_EQ(problem.nodes(), 2);
}

TEST(CheckTest, P1Resources) {
  EXPECT_EQ(errorAfter([](Problem &p) { p.nics[2].node = 2; }),
            "nics[2].node: expected 0 or 1, got 2");
  EXPECT_EQ(errorAfter([](Problem &p) { p.nics[0].node = 1; }),
            "nics[0].node: expected 0 or 0, got 1");
  EXPECT_EQ(errorAfter([](Problem &p) { p.nics[1].rate = 0; }),
            "nics[1]: the rate must be in [1, 2^50], got 0");
  EXPECT_EQ(errorAfter([](Problem &p) { p.devices[3].nic = 3; }),
            "devices[3].nic: 3 is not in [0, 3)");
  EXPECT_EQ(
      errorAfter([](Problem &p) { p.devices[0].linkRate = int64_t(1) << 51; }),
      "devices[0]: the rate must be in [1, 2^50], got 2251799813685248");
}

TEST(CheckTest, P2Sets) {
  EXPECT_EQ(errorAfter([](Problem &p) { p.sets[1].clear(); }),
            "sets[1]: lists no device");
  EXPECT_EQ(errorAfter([](Problem &p) { p.sets[1][1] = 4; }),
            "sets[1]: device 4 is not in [0, 4)");
  EXPECT_EQ(errorAfter([](Problem &p) {
              p.sets[1] = {2, 1};
            }),
            "sets[1]: must be strictly ascending, got 1 after 2");
}

TEST(CheckTest, P3Atoms) {
  EXPECT_EQ(errorAfter([](Problem &p) { p.atoms[1].needers = 4; }),
            "atoms[1]: set 4 is not in [0, 4)");
  EXPECT_EQ(errorAfter([](Problem &p) { p.atoms[0].bytes = 0; }),
            "atoms[0]: expected at least 1 byte and a grain of at least 1, got "
            "0 and 1");
  EXPECT_EQ(errorAfter([](Problem &p) { p.atoms[1] = p.atoms[0]; }),
            "atoms[1]: must come after the atom before it by (holders, "
            "needers, mayTransit), got (0, 1, 1) after (0, 1, 1)");
}

TEST(CheckTest, P4Takers) {
  EXPECT_EQ(
      errorAfter([](Problem &p) { p.devices[3].status = Status::Failed; }),
      "atoms[1].holders: device 3 takes no part");
  EXPECT_EQ(
      errorAfter([](Problem &p) { p.devices[3].status = Status::Draining; }),
      "well formed");
  EXPECT_EQ(
      errorAfter([](Problem &p) { p.devices[2].status = Status::Draining; }),
      "atoms[0].needers: device 2 is not usable");
  EXPECT_EQ(errorAfter([](Problem &p) { p.atoms[1].needers = 3; }),
            "atoms[1].needers: device 3 is a holder");
}

TEST(CheckTest, P5Magnitudes) {
  EXPECT_EQ(errorAfter([](Problem &p) { p.atoms[0].bytes = int64_t(1) << 59; }),
            "atoms[0].bytes: the bytes to move may exceed 2^60");
  EXPECT_EQ(errorAfter([](Problem &p) {
              p.devices.resize(2000, {0, int64_t(1) << 50});
            }),
            "devices: the sum of all rates exceeds 2^60");
}

} // namespace
} // namespace etc::routing
