// What a recovery fills on a GPU, over the double of the driver.

#include "GpuFixture.h"
#include "PlanFixture.h"

#include "recovery/RecoveryMember.h"
#include "recovery/Refill.h"

using namespace etc;
using namespace etc::runtime;
using namespace etc::plan::test;

namespace {

// Tensors of twoStagePlan(): a bf16 [4, 4], and the fp32 that it is cast from.
constexpr uint32_t kLayer = 1, kMaster = 2;

/// Every element of it is its number in the box.
class Counting final : public BoxSource {
public:
  Status check(const PlanIndex &, uint32_t, BoxView) const override {
    return Status::success();
  }
  Result<uint64_t> read(const PlanIndex &, uint32_t, Region to,
                        BoxView part) const override {
    std::vector<uint16_t> numbers(volume(part));
    for (size_t i = 0; i != numbers.size(); ++i)
      numbers[i] = static_cast<uint16_t>(100 + i);
    const auto *data = reinterpret_cast<const std::byte *>(numbers.data());
    copyBox({data, part}, to, part, sizeof(uint16_t));
    return numbers.size() * sizeof(uint16_t);
  }
};

class RefillGpuTest : public etc::test::GpuTest {
protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped())
      return;
    auto made = makeCudaWorker(0);
    ASSERT_TRUE(made) << made.status().message();
    worker = std::move(*made);
  }

  etc::test::OpenPlan plan{twoStagePlan()};
  std::unique_ptr<Worker> worker;
};

TEST_F(RefillGpuTest, CastsWhatIsHeldAndReadsTheRest) {
  const PlanIndex &index = plan.index;
  // Device 2 holds the lower half of the master.
  const Standing standing = standingAt(index, *index.rankOf(2), Side::Curr);
  HeldMemory held{&index, {}, {}};
  for (const HeldShard &shard :
       heldShards(index, index.participant(2).program, standing))
    if (shard.tensor == kMaster)
      held.shards.push_back(shard);
  ASSERT_EQ(held.shards.size(), 1u);
  const Box mine = held.shards[0].boxes.at(0);
  std::vector<float> master(volume(mine));
  for (size_t i = 0; i != master.size(); ++i)
    master[i] = static_cast<float>(i);
  const uint64_t masterBytes = master.size() * sizeof(float);
  std::byte *device = etc::test::takeGpuMemory(0, masterBytes);
  ASSERT_TRUE(
      worker
          ->upload(device,
                   {reinterpret_cast<std::byte *>(master.data()), masterBytes})
          .ok());
  held.find = [&](const HeldShard &) { return device; };

  // Of a wider box, whose other rows are in the checkpoint.
  Box wanted = mine;
  wanted[0] = {0, index.tensor(kLayer).shape()->Get(0)};
  ASSERT_GT(volume(wanted), volume(mine));
  const uint64_t bytes = volume(wanted) * sizeof(uint16_t);
  std::byte *to = etc::test::takeGpuMemory(0, bytes);
  const Counting checkpoint;
  auto restored =
      refill(held, &checkpoint, index, kLayer, {to, wanted}, *worker);
  ASSERT_TRUE(restored) << restored.status().message();
  EXPECT_EQ(*restored, bytes - volume(mine) * sizeof(uint16_t));

  std::vector<uint16_t> made(volume(wanted));
  ASSERT_TRUE(
      worker->download({reinterpret_cast<std::byte *>(made.data()), bytes}, to)
          .ok());
  const int64_t columns = wanted[1].size();
  size_t ofMaster = 0, ofCheckpoint = 0;
  for (int64_t row = wanted[0].begin; row != wanted[0].end; ++row)
    for (int64_t column = 0; column != columns; ++column) {
      const bool isMine = row >= mine[0].begin && row < mine[0].end;
      const uint16_t expected =
          isMine ? castToBf16(static_cast<float>(ofMaster++))
                 : static_cast<uint16_t>(100 + ofCheckpoint++);
      EXPECT_EQ(made[row * columns + column], expected)
          << row << ", " << column;
    }
  etc::test::leaveGpuMemory(0, device);
  etc::test::leaveGpuMemory(0, to);
}

} // namespace
