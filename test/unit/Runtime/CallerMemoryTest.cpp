// Memory that a trainer owns: what is whose.

#include "PlanFixture.h"

#include "capi/CallerMemory.h"
#include "core/journal/HeldShards.h"
#include "core/memory/HostAllocator.h"

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

/// Its release may wait for the device, and that for a peer that is gone.
TEST_F(CallerMemoryTest, TheCallerIsToldWhenNoTransferIsUnderWay) {
  alignas(64) std::byte first[64], second[64];
  CallerMemory memory(index, 0, callbacks, fallback);
  memory.registerPrev(0, first);
  memory.registerPrev(1, second);
  ASSERT_EQ(memory.complete().message(), "");
  Allocator &allocator = memory;
  auto release = [&](size_t position) {
    const Holding holding = index.holdings(0, Side::Prev)[position];
    allocator.release(
        *allocator.allocate(index.shardBytes(holding.shard),
                            memoryName(Side::Prev, holding.tensor)));
  };
  allocator.noteTransfers(true);
  release(0);
  EXPECT_TRUE(released.empty());
  EXPECT_FALSE(memory.hasReleased());
  allocator.noteTransfers(false);
  EXPECT_EQ(released, (std::vector<std::string>{"embedding.weight"}));
  // After an error it stays the caller's.
  allocator.noteTransfers(true);
  release(1);
  allocator.keepForLater();
  EXPECT_EQ(released.size(), 1u);
}

/// The GPU hangs, and to free its memory would wait for it: nobody is told of
/// staging and transit either.
TEST_F(CallerMemoryTest, TheCallerIsNotToldAfterAnAbandon) {
  alignas(64) static std::byte staging[64];
  callbacks.allocate = [](void *, const etc_tensor_info *, uint64_t) -> void * {
    return staging;
  };
  for (bool isAbandoned : {false, true}) {
    released.clear();
    CallerMemory memory(index, 0, callbacks, fallback);
    Allocator &allocator = memory;
    allocator.noteTransfers(true);
    Result<Buffer> buffer = allocator.allocate(sizeof staging);
    ASSERT_TRUE(buffer.ok());
    allocator.release(*buffer);
    if (isAbandoned)
      memory.abandon();
    allocator.keepForLater();
    EXPECT_EQ(released.size(), isAbandoned ? 0u : 1u);
  }
}

TEST_F(CallerMemoryTest, OverlapsAreRefused) {
  alignas(64) static std::byte first[64], second[64], free[256];
  static std::byte *next = nullptr;
  callbacks.allocate = [](void *, const etc_tensor_info *, uint64_t) -> void * {
    return next;
  };
  CallerMemory memory(index, 0, callbacks, fallback);
  memory.registerPrev(0, first);
  memory.registerPrev(1, second);
  ASSERT_EQ(memory.complete().message(), "");
  Allocator &allocator = memory;
  auto allocate = [&](size_t position, std::byte *data) {
    next = data;
    const Holding holding = index.holdings(0, Side::Curr)[position];
    return allocator.allocate(index.shardBytes(holding.shard),
                              memoryName(Side::Curr, holding.tensor));
  };
  const std::string remedy = "; allocate must return memory that nothing else "
                             "uses";
  EXPECT_EQ(allocate(1, first + 8).status().message(),
            "memory that was allocated for new layer.weight (param) overlaps "
            "previous embedding.weight (param)" +
                remedy);
  Result<Buffer> layer = allocate(1, free + 64);
  ASSERT_TRUE(layer.ok());
  // From below, too: 32 bytes of the master copy.
  EXPECT_EQ(allocate(2, free + 40).status().message(),
            "memory that was allocated for new layer.weight (master) overlaps "
            "new layer.weight (param)" +
                remedy);
  next = free + 64;
  EXPECT_EQ(allocator.allocate(8).status().message(),
            "memory that was allocated for staging overlaps new layer.weight "
            "(param)" +
                remedy);
  EXPECT_TRUE(allocate(2, free + 32).ok());
  // What was released may be used again.
  const Holding embedding = index.holdings(0, Side::Prev)[0];
  allocator.release({first, index.shardBytes(embedding.shard)});
  EXPECT_TRUE(allocate(0, first).ok());
}

} // namespace
