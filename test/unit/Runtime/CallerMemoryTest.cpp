// Memory that a trainer owns: what is whose.

#include "PlanFixture.h"

#include "capi/CallerMemory.h"
#include "journal/Holdings.h"
#include "memory/HostAllocator.h"

#include <gtest/gtest.h>

#include <vector>

using namespace etc::runtime;
using namespace etc::plan::test;

namespace {

class CallerMemoryTest : public testing::Test {
protected:
  CallerMemoryTest()
      : bytes(etc::plan::packPlan(twoStagePlan())),
        index(*etc::plan::fb::GetPlan(bytes.data())) {
    callbacks.context = this;
    callbacks.release = [](void *context, etc_side side,
                           const etc_tensor_info *info, void *, uint64_t) {
      auto *self = static_cast<CallerMemoryTest *>(context);
      self->released.push_back(info && side == ETC_PREV ? info->name : "other");
    };
  }

  std::vector<uint8_t> bytes;
  PlanIndex index;
  etc_memory callbacks{};
  HostAllocator fallback;
  std::vector<std::string> released;
};

TEST_F(CallerMemoryTest, ShardsMayChangePlaces) {
  alignas(64) std::byte first[64], second[64];
  // The first program has an embedding and a norm.
  for (bool isShared : {false, true}) {
    released.clear();
    CallerMemory memory(index, 0, callbacks, fallback);
    memory.registerPrev(0, first);
    memory.registerPrev(1, isShared ? first : second);
    if (!isShared)
      memory.registerPrev(0, second);
    memory.registerPrev(1, isShared ? second : first);
    ASSERT_EQ(memory.complete().message(), "");
    Allocator &allocator = memory;
    for (size_t i : {0, 1}) {
      const Holding holding = index.holdings(0, Side::Prev)[i];
      Result<Buffer> buffer =
          allocator.allocate(index.shardBytes(holding.shard),
                             memoryName(Side::Prev, holding.tensor));
      ASSERT_TRUE(buffer.ok());
      EXPECT_EQ(buffer->data, (i == 0) == isShared ? first : second);
      allocator.release(*buffer);
    }
    EXPECT_EQ(released,
              (std::vector<std::string>{"embedding.weight", "norm.weight"}));
  }
}

} // namespace
