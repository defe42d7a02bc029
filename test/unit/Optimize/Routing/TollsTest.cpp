// Tolls: what bytes pay of them, found ones, wrong ones, and their sentence.

#include "Cases.h"
#include "etc/Optimize/Routing/Solver.h"

#include <gtest/gtest.h>

namespace etc::routing {
namespace {

using testing::readCase;

/// The link out of device 7, links into devices 1 and 2, and the NICs of their
/// holders' node together are too slow, and no cut has all of them.
Problem twoNodes() {
  return readCase("nodes 1 devices 4 nics 4 link 8M nic 2M\n"
                  "nodes 1 devices 4 nics 2 link 8M nic 2M\n"
                  "spare 3 6\n"
                  "atom 868k: 0 4 5 -> 1 2\n"
                  "atom 886k: 7 -> 5\n")
      .problem;
}

Cut cutOf(const Problem &problem, Tolls tolls) {
  Cut cut;
  cut.time = timeOf(problem, tolls);
  cut.tolls = std::move(tolls);
  return cut;
}

std::string errorOf(const Problem &problem, const Cut &cut) {
  return verifyBound(problem, cut).value_or("valid");
}

TEST(TollsTest, Found) {
  const Problem problem = twoNodes();
  const Cut slowest = findBound(problem);
  EXPECT_EQ(slowest.time, (Time{886'000, 10'000'000}));
  const Cut tolls = findTolls(problem, slowest, {1, 1});
  EXPECT_EQ(errorOf(problem, tolls), "valid");
  EXPECT_EQ(tolls.time, (Time{2'622'000, 28'000'000}));
  EXPECT_EQ(describe(problem, cutOf(problem, {{7}, {1, 2}, {4, 6}, {}})),
            "links out of device 7, NICs out of devices 4, 6, links into "
            "devices 1, 2 have to carry 2.622 MB at 3 x 8 MB/s + 2 x 2 MB/s: "
            "nothing is below 93.64 ms");
  // A routing is known that takes hardly longer than the cut.
  EXPECT_TRUE(findTolls(problem, slowest, {887'000, 10'000'000}).empty());
}

/// Each byte that two devices lack enters both, and the node once.
TEST(TollsTest, Multicast) {
  const Problem problem = readCase("nodes 2 devices 3 nics 3 link 9 nic 1\n"
                                   "atom 1000: 0 1 -> 3 4\n")
                              .problem;
  const auto bytes = [&](Tolls tolls) { return timeOf(problem, tolls).bytes; };
  EXPECT_EQ(bytes({{}, {}, {}, {3, 4, 5}}), 1000);
  EXPECT_EQ(bytes({{}, {}, {0, 1}, {}}), 0) << "device 2 may pass it on";
  EXPECT_EQ(bytes({{}, {}, {0, 1, 2}, {}}), 1000);
  EXPECT_EQ(bytes({{}, {}, {0, 1, 2}, {3, 4, 5}}), 2000);
  EXPECT_EQ(bytes({{}, {3, 4}, {}, {}}), 0) << "both may use NICs";
  EXPECT_EQ(bytes({{}, {3, 4}, {}, {3, 4, 5}}), 2000);
  EXPECT_EQ(bytes({{3, 4, 5}, {}, {}, {3, 4, 5}}), 2000);
  EXPECT_EQ(bytes({{3}, {4}, {}, {3, 4, 5}}), 1000)
      << "device 4 may receive it first";
}

/// A spare device passes nothing on, a draining one does.
TEST(TollsTest, WhoTakesPart) {
  const auto bytes = [](const char *status) {
    const Problem problem =
        readCase("nodes 2 devices 2 nics 2 link 9 nic 1\n" +
                 std::string(status) + " 1\natom 1000: 0 -> 2 3\n")
            .problem;
    return timeOf(problem, {{}, {}, {0, 2, 3}, {}}).bytes;
  };
  EXPECT_EQ(bytes("spare"), 1000);
  EXPECT_EQ(bytes("draining"), 0);
}

TEST(TollsTest, Refused) {
  const Problem problem = twoNodes();
  const auto error = [&](Tolls tolls) {
    Cut cut;
    cut.time = {1, 1};
    cut.tolls = std::move(tolls);
    return errorOf(problem, cut);
  };
  EXPECT_EQ(error({{8}, {}, {}, {}}), "tolls.linksOut[0]: 8 is not in [0, 8)");
  EXPECT_EQ(error({{}, {2, 1}, {}, {}}),
            "tolls.linksIn[1]: must be strictly ascending, got 1 after 2");
  EXPECT_EQ(error({{}, {3}, {}, {}}),
            "tolls.linksIn[0]: device 3 takes no part");
  EXPECT_EQ(error({{}, {}, {}, {4, 5}}),
            "tolls.nicsIn[1]: device 5 has the NIC of device 4");
  EXPECT_EQ(error({{}, {}, {0}, {}}), "time.bytes: 0 tolls are paid, got 1");
  Cut cut = cutOf(problem, {{}, {}, {4, 6}, {0, 1, 2, 3}});
  EXPECT_EQ(errorOf(problem, cut), "valid");
  cut.time.rate += 1;
  EXPECT_EQ(errorOf(problem, cut),
            "time.rate: 12000000 bytes a second take tolls, got 12000001");
  cut.devices = {0};
  EXPECT_EQ(errorOf(problem, cut),
            "devices: must be empty, since links and NICs take tolls");
}

TEST(TollsTest, TooManyDevices) {
  const Problem problem = readCase("nodes 1 devices 65 nics 65 link 9 nic 1\n"
                                   "atom 1000: 0 -> 1-64\n")
                              .problem;
  EXPECT_TRUE(findTolls(problem, findBound(problem), {1000, 1}).empty());
  Cut cut;
  cut.tolls.linksIn = {1};
  EXPECT_EQ(errorOf(problem, cut), "tolls: more than 64 devices take part");
}

} // namespace
} // namespace etc::routing
