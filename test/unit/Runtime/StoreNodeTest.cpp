// One process of a job's store, step by step.

#include "DescriptorLimit.h"

#include "job/store/StoreNode.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace etc::runtime;
using etc::test::DescriptorLimit;
using etc::test::nextDescriptor;

namespace {

bool isWatched(const StoreNode &node, int fd) {
  std::vector<pollfd> entries;
  node.addEntries(entries);
  return std::ranges::any_of(entries,
                             [&](const pollfd &it) { return it.fd == fd; });
}

/// Who connects meanwhile would end each wait at once.
TEST(StoreNodeTest, OutOfDescriptorsItWaitsForOthersAlone) {
  constexpr Milliseconds beat{1};
  Address address{"127.0.0.1", 0};
  Result<Socket> listener = listenAt(address);
  ASSERT_TRUE(listener);
  const int fd = listener->fd();
  StoreNode node({1, 1, 0, address.describe()}, std::move(*listener), Secret(),
                 Milliseconds(10'000));
  node.found();
  const Result<Socket> stranger = connectTo(
      address, std::chrono::steady_clock::now() + std::chrono::seconds(10));
  ASSERT_TRUE(stranger);
  {
    DescriptorLimit limit(nextDescriptor());
    node.step(beat);
    EXPECT_FALSE(isWatched(node, fd));
  }
  node.step(beat);
  EXPECT_TRUE(isWatched(node, fd));
}

} // namespace
