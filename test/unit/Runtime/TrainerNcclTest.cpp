// What the C API does, over the doubles of the CUDA driver and of NCCL.

#include "NcclFixture.h"
#include "PlanFixture.h"

#include "../../faults/RingPlan.h"
#include "capi/Migration.h"
#include "capi/TensorInfo.h"
#include "core/engine/StateCheck.h"

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
    return check(rank, [&](size_t position) {
      void *data = nullptr;
      EXPECT_TRUE(migration.current(position, &data, nullptr).ok());
      return data;
    });
  }

  /// `find` says where the current tensor of a position is.
  template <typename Find> Status check(uint32_t rank, Find find) const {
    const uint32_t program = index().participant(rank).program;
    size_t position = 0;
    Status status = Status::success();
    for (Holding holding : index().holdings(program, Side::Curr)) {
      void *data = find(position++);
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

  /// An allocator whose every call waits for the device, as a framework's may.
  static etc_memory waitingMemory(uint32_t &rank) {
    return {&rank,
            [](void *context, const etc_tensor_info *, uint64_t bytes) {
              return static_cast<void *>(etc::test::takeGpuMemory(
                  *static_cast<uint32_t *>(context), bytes));
            },
            [](void *context, etc_side, const etc_tensor_info *, void *data,
               uint64_t) {
              etc::test::leaveGpuMemory(*static_cast<uint32_t *>(context),
                                        data);
            }};
  }

  /// Prepares on one thread a rank, and goes on with `next` on another.
  template <typename Next>
  std::vector<Status> onRanks(Next next, etc_mode mode = ETC_EAGER,
                              bool ownsMemory = false) {
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
        options.bootstrap.mode = mode;
        uint32_t gpu = rank;
        if (ownsMemory)
          options.memory = waitingMemory(gpu);
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

/// The double reports memory that is allocated while a transfer is under way.
TEST_F(TrainerNcclTest, ATrainersAllocatorMayWaitForTheDevice) {
  // What goes in round 0 makes room for later rounds to begin early.
  auto opened = OpenPlan::copy(etc::plan::packPlan(
      roomy(ringPlan(4, 6, 100, /*dropped=*/4096), ~size_t{0}, /*room=*/0)));
  ASSERT_TRUE(opened) << opened.status().message();
  plan = *opened;
  for (etc_mode mode : {ETC_EAGER, ETC_SAFE}) {
    auto statuses = onRanks(
        [&](Migration &migration, uint32_t rank) {
          Status status = migration.run();
          return status.ok() ? check(migration, rank) : status;
        },
        mode, /*ownsMemory=*/true);
    for (const Status &status : statuses)
      EXPECT_EQ(status.message(), "");
    for (const auto &entry : std::filesystem::directory_iterator(directory))
      std::filesystem::remove_all(entry);
  }
}

/// A kernel of the tail could wait for a peer behind one of training.
TEST_F(TrainerNcclTest, RefusesWhatIsDeferred) {
  etc::plan::fb::PlanT deferred = ringPlan(4, 2, 100);
  for (auto &tensor : deferred.tensors)
    tensor->deferred = true;
  deferred.deferred_rounds = deferred.forecast.size();
  for (auto &program : deferred.programs) {
    program->tail_peak = program->peak;
    program->tail_peak_safe = program->peak_safe;
  }
  auto opened = OpenPlan::copy(etc::plan::packPlan(std::move(deferred)));
  ASSERT_TRUE(opened) << opened.status().message();
  etc_options given{};
  given.directory = directory.c_str();
  given.transport = ETC_NCCL;
  EXPECT_TRUE(checkOptions(given, index()));
  auto refused = checkOptions(given, (*opened)->index());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.status().kind(), ErrorKind::Usage);
  EXPECT_NE(refused.status().message().find("plan with defer=none"),
            std::string::npos)
      << refused.status().message();
  given.transport = ETC_TCP;
  EXPECT_TRUE(checkOptions(given, (*opened)->index()));
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

TEST_F(TrainerNcclTest, RoundsWithoutHashesAreRightToo) {
  const uint32_t count = index().rankCount();
  auto statuses = etc::test::onRanks(
      count, Milliseconds(20'000),
      [&](Transport &transport, uint32_t rank, Control &control) {
        auto gpu = std::move(*makeCudaWorker(rank));
        const uint32_t program = index().participant(rank).program;
        CallerMemory memory(index(), program, {}, gpu->allocator());
        size_t position = 0;
        for (Holding holding : index().holdings(program, Side::Prev))
          memory.registerPrev(position++,
                              etc::test::takeGpuMemory(
                                  rank, index().shardBytes(holding.shard)));
        EXPECT_EQ(memory.complete().message(), "");
        CallerWorker worker(*gpu, memory);
        RunOptions options{.timeout = Milliseconds(20'000)};
        options.verify = Verify::Off;
        DeviceRun run(index(), rank, control, transport, worker, options);
        Status status = run.prepare();
        if (status.ok())
          status = run.migrate();
        return status.ok()
                   ? check(rank,
                           [&](size_t at) { return memory.current(at).first; })
                   : status;
      });
  for (const Status &status : statuses)
    EXPECT_EQ(status.message(), "");
}

} // namespace
