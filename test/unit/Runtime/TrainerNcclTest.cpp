// What the C API does, over the doubles of the CUDA driver and of NCCL.

#include "GpuFixture.h"
#include "PlanFixture.h"

#include "capi/Migration.h"
#include "capi/TensorInfo.h"
#include "engine/StateCheck.h"

#include <filesystem>
#include <thread>

using namespace etc;
using namespace etc::runtime;
using namespace etc::plan::test;

namespace {

class TrainerNcclTest : public etc::test::GpuTest {
protected:
  void SetUp() override {
    GpuTest::SetUp();
    std::string pattern = testing::TempDir() + "etc-trainer-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    plan = *OpenPlan::copy(etc::plan::packPlan(twoStagePlan()));
  }
  void TearDown() override {
    std::filesystem::remove_all(directory);
    GpuTest::TearDown();
  }

  const PlanIndex &index() const { return plan->index(); }

  /// Calls visit(region of one box) for what a device holds of a tensor.
  template <typename Visit>
  void forEachBox(Holding holding, void *data, Visit visit) const {
    auto *at = static_cast<std::byte *>(data);
    for (uint32_t i = 0; i != index().boxCount(holding.shard); ++i) {
      const etc::BoxView box = index().shardBox(holding.shard, i);
      visit(Region{at, box});
      at += volume(box) * index().elementBytes(holding.tensor);
    }
  }

  /// A trainer's tensors, on its GPU.
  Status registerAll(Migration &migration, uint32_t rank) const {
    const uint32_t program = index().participant(rank).program;
    for (Holding holding : index().holdings(program, Side::Prev)) {
      const etc_tensor_info info = describe(index(), Side::Prev, holding);
      std::vector<std::byte> bytes(info.bytes);
      forEachBox(holding, bytes.data(), [&](Region region) {
        fillRegion(index(), holding.tensor, Side::Prev, region);
      });
      std::byte *memory = etc::test::takeGpuMemory(rank, info.bytes);
      ETC_OF_CUDA_DOUBLE(etcDoubleWrite)(memory, bytes.data(), info.bytes);
      etc_tensor tensor{sizeof tensor, info.dtype, memory, 1, 0, {}, {1}};
      tensor.shape[0] = static_cast<int64_t>(info.bytes) /
                        index().elementBytes(holding.tensor);
      if (Status s = migration.registerTensor(info.type, info.name, tensor);
          !s.ok())
        return s;
    }
    return Status::success();
  }

  Status check(const Migration &migration, uint32_t rank) const {
    const uint32_t program = index().participant(rank).program;
    size_t position = 0;
    Status status = Status::success();
    for (Holding holding : index().holdings(program, Side::Curr)) {
      void *data = nullptr;
      if (Status s = migration.current(position++, &data, nullptr); !s.ok())
        return s;
      std::vector<std::byte> bytes(
          describe(index(), Side::Curr, holding).bytes);
      ETC_OF_CUDA_DOUBLE(etcDoubleRead)(bytes.data(), data, bytes.size());
      forEachBox(holding, bytes.data(), [&](Region region) {
        if (status.ok())
          status = checkRegion(index(), holding.tensor, Side::Curr,
                               {region.data, region.box});
      });
    }
    return status;
  }

  /// Prepares on one thread a rank, and goes on with `next` on another.
  template <typename Next> std::vector<Status> onRanks(Next next) {
    std::vector<Status> statuses(index().rankCount(), Status::success());
    std::vector<std::jthread> threads;
    for (uint32_t rank = 0; rank != statuses.size(); ++rank)
      threads.emplace_back([&, rank] {
        MigrationOptions options;
        options.bootstrap.rank = options.bootstrap.gpu = rank;
        options.bootstrap.transport = ETC_NCCL;
        options.bootstrap.host = "127.0.0.1";
        options.bootstrap.timeout = Milliseconds(60'000);
        options.bootstrap.silence = Milliseconds(60'000);
        options.tag = "etc";
        options.directory = directory;
        auto migration = std::move(*Migration::create(plan, options));
        Status &status = statuses[rank];
        status = registerAll(*migration, rank);
        if (status.ok())
          status = migration->prepare();
        if (status.ok())
          std::jthread([&] { status = next(*migration, rank); });
      });
    threads.clear();
    return statuses;
  }

  std::filesystem::path directory;
  std::shared_ptr<const OpenPlan> plan;
};

TEST_F(TrainerNcclTest, MigratesOnAnotherThreadThanPrepared) {
  auto statuses = onRanks([&](Migration &migration, uint32_t rank) {
    Status status = migration.run();
    return status.ok() ? check(migration, rank) : status;
  });
  for (const Status &status : statuses)
    EXPECT_EQ(status.message(), "");
}

TEST_F(TrainerNcclTest, AllLearnThatOneGivesUp) {
  auto statuses = onRanks([&](Migration &migration, uint32_t rank) {
    if (rank != 3)
      return migration.run();
    migration.abort("allocate raised MemoryError: no room");
    return Status::success();
  });
  for (uint32_t rank = 0; rank != 3; ++rank) {
    EXPECT_EQ(statuses[rank].kind(), ErrorKind::Peer);
    EXPECT_EQ(statuses[rank].message(),
              "device 3: allocate raised MemoryError: no room");
  }
}

} // namespace
